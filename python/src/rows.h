/* Tensors as the layers of fovea_nn take them: rows of the last axis, a stride apart. */
#ifndef FOVEA_PYTHON_ROWS_H
#define FOVEA_PYTHON_ROWS_H

#include "tensor.h"

namespace fovea_python {

/* All axes but the last, as one: how many rows, and the stride from one to the next. Refuses tensors whose rows are not
 * equally far apart. */
class rows {
public:
  void read(nb::handle object, const char *name); /* None: no rows */
  void write(nb::handle object, const char *name);

  bool exists() const { return memory.exists(); }
  fovea_type type(const char *name) const { return number_type(memory.type, name); }

  tensor memory;
  int64_t count = 0, dim = 0, stride = 0;

private:
  void set(const char *name);
};

/* Reads the rows of an argument that must have as many rows of `dim` numbers as others. */
void require_rows(const rows &rows, const char *name, int64_t count, int64_t dim);

/* Takes `given` as an output, or makes one: the shape of `like` but for the last axis, and its type. Returns the object. */
nb::object output_rows(rows &output, nb::handle given, nb::handle like, const rows &shape, int64_t dim);

/* What a call that runs as row-wise calls do has: a number of threads. */
struct row_execution : fovea_execution {
  explicit row_execution(int threads) {
    fovea_execution_init(this);
    this->threads = threads;
  }
};

} // namespace fovea_python

#endif
