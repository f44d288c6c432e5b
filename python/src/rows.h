/* Tensors as the layers of fovea_nn take them: rows of the last axis, a stride apart. */
#ifndef FOVEA_PYTHON_ROWS_H
#define FOVEA_PYTHON_ROWS_H

#include "compute.h"
#include "shape.h"

namespace fovea_python {

/* All axes but the last, as one: how many rows, and the stride from one to the next. Refuses tensors whose rows are not
 * equally far apart. */
class rows {
public:
  void read(nb::handle object, const char *name); /* None: no rows */
  void write(nb::handle object, const char *name);

  bool exists() const { return memory.exists(); }

  /* Refuses what has other rows, if it exists. */
  void require(int64_t count, int64_t dim) const;

  /* Sets the fields of a struct; without rows they keep their defaults. */
  template <class pointer> void hand_to(pointer &data, fovea_type &type, int64_t &stride) const {
    if (!exists()) return;
    data = memory.data;
    type = number_type(memory.type, name);
    stride = this->stride;
  }

  tensor memory;
  const char *name = nullptr; /* of the argument */
  int64_t count = 0, dim = 0, stride = 0;

private:
  void set();
};

/* Takes `given` as an output, or makes one: the shape of `like` but for the last axis, and its type. Returns the object. */
nb::object output_rows(rows &output, nb::handle given, nb::handle like, const rows &shape, int64_t dim);

} // namespace fovea_python

#endif
