/* Tensors of the variants of attention: their axes have names, and become the strides of the library. */
#ifndef FOVEA_PYTHON_OPERAND_H
#define FOVEA_PYTHON_OPERAND_H

#include "compute.h"
#include "shape.h"

#include <initializer_list>

namespace fovea_python {

/* `axes` has a letter for each axis: 'b' batch, 'h' heads, 'r' rows (keys, tokens, nodes), 'd' a dim, whose elements lie
 * side by side. A batch may be left out. */
class operand {
public:
  operand(const char *name, const char *axes) : name_(name), axes_(axes) {}

  void read(nb::handle given); /* None: none */

  /* Takes an output of these sizes, one for each letter, or makes one, of the type of `like`, without a batch axis if
   * `like` has none. Returns the object. */
  nb::object write(nb::handle given, nb::handle like_object, const operand &like,
                   std::initializer_list<int64_t> sizes);
  nb::object write(nb::handle given, nb::handle like_object, const operand &like, element type,
                   std::initializer_list<int64_t> sizes);

  bool exists() const { return memory.exists(); }
  int64_t size(char axis) const; /* 1 of a batch that is left out */

  /* Refuses other sizes, one for each letter, if the operand exists. */
  void require(std::initializer_list<int64_t> sizes) const;
  void require_type(element type) const;

  /* Set the fields of a struct; without a tensor they keep their defaults. */
  template <class pointer> void hand_to(pointer &data, fovea_type &type, fovea_strides &strides) const {
    if (!exists()) return;
    data = memory.data;
    type = number_type(memory.type, name_);
    strides = this->strides();
  }
  template <class number> void hand_to(number *&data, fovea_strides &strides) const {
    if (!exists()) return;
    data = static_cast<number *>(memory.data);
    strides = this->strides();
  }
  fovea_strides strides() const;

  tensor memory;

private:
  bool has_batch() const;
  void check_axes() const;
  int64_t stride(char axis) const;

  const char *name_, *axes_;
};

} // namespace fovea_python

#endif
