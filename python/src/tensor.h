/* Tensors of other libraries, in and out, without copies: NumPy arrays and other buffers, and whatever has __dlpack__. */
#ifndef FOVEA_PYTHON_TENSOR_H
#define FOVEA_PYTHON_TENSOR_H

#include "element.h"

namespace fovea_python {

constexpr int most_axes = 8;
using extents = int64_t[most_axes];

/* What an argument names: memory of its owner, which this object keeps until it ends. */
class tensor {
public:
  tensor() = default; /* no tensor */
  tensor(const tensor &) = delete;
  tensor &operator=(const tensor &) = delete;
  ~tensor() { release(); }

  /* Takes a tensor that is read, or one that is written. `name` is the argument's. Refuses what lies on another device,
   * what needs a gradient, what cannot be written, and elements of the last axis that do not lie side by side. */
  void read(nb::handle object, const char *name);
  void write(nb::handle object, const char *name);
  /* The same for tensors whose last axis may have any stride. */
  void read_strided(nb::handle object, const char *name) { take(object, name, false); }
  void write_strided(nb::handle object, const char *name) { take(object, name, true); }

  /* Takes a tensor of PyTorch in the CPU's memory, also one that requires a gradient. Returns false for others. */
  bool view(nb::handle object);

  /* Becomes a contiguous tensor without memory, for plans, which look at shapes alone. */
  void imagine(element type, const int64_t *shape, int axes);

  bool exists() const { return taken_; }
  void *data = nullptr;
  element type = element::other;
  int axes = 0;
  extents shape, strides; /* strides in elements */

private:
  void take(nb::handle object, const char *name, bool written);
  bool take_buffer(nb::handle object, const char *name, bool written);
  bool take_exchange(nb::handle object, const char *name, bool written);
  bool take_capsule(nb::handle object, const char *name, bool written);
  bool take_layout(nb::handle object);
  void set(const struct dlpack_view &view, const char *name);
  void check_strides(const char *name) const;
  void release();

  bool taken_ = false;
  bool has_buffer_ = false;
  nb::object capsule_; /* its end gives the memory back */
  Py_buffer buffer_;
};

/* A tensor without memory, for plans: Layout(shape, dtype). */
struct layout {
  element type;
  int axes;
  extents shape;
};
void bind_layout(nb::module_ &module);

/* Makes a contiguous tensor that is not filled: by the library that `like` is of, if it can be asked, else a NumPy
 * array. */
nb::object make_tensor(nb::handle like, element type, const int64_t *shape, int axes);

} // namespace fovea_python

#endif
