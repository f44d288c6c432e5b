#include "operand.h"

#include <cstring>
#include <string>

namespace fovea_python {

namespace {

/* "(batch, heads, rows, dim)" */
std::string words_of(const char *axes) {
  std::string words;
  for (const char *axis = axes; *axis; axis++) {
    const char *word = *axis == 'b' ? "batch" : *axis == 'h' ? "heads" : *axis == 'r' ? "rows" : "dim";
    words += std::string(words.empty() ? "(" : ", ") + word;
  }
  return words + ")";
}

} // namespace

bool operand::has_batch() const {
  return *axes_ != 'b' || memory.axes == static_cast<int>(std::strlen(axes_));
}

void operand::check_axes() const {
  int axes = static_cast<int>(std::strlen(axes_));
  if (memory.axes != axes && !(*axes_ == 'b' && memory.axes == axes - 1))
    refuse(name_, "%s has the shape %s; it must be %s%s", name_, shape_text(memory).text, words_of(axes_).c_str(),
           *axes_ == 'b' ? ", without batch if there is one" : "");
}

void operand::read(nb::handle given) {
  if (given.is_none()) return;
  if (axes_[std::strlen(axes_) - 1] == 'd')
    memory.read(given, name_);
  else
    memory.read_strided(given, name_);
  check_axes();
}

nb::object operand::write(nb::handle given, nb::handle like_object, const operand &like,
                          std::initializer_list<int64_t> sizes) {
  return write(given, like_object, like, given.is_none() ? like.memory.type : element::other, sizes);
}

nb::object operand::write(nb::handle given, nb::handle like_object, const operand &like, element type,
                          std::initializer_list<int64_t> sizes) {
  int left_out = *axes_ == 'b' && *like.axes_ == 'b' && !like.has_batch();
  int axes = static_cast<int>(sizes.size()) - left_out;
  nb::object object =
      given.is_none() ? make_tensor(like_object, type, sizes.begin() + left_out, axes) : nb::borrow(given);
  if (axes_[std::strlen(axes_) - 1] == 'd')
    memory.write(object, name_);
  else
    memory.write_strided(object, name_);
  check_axes();
  require(sizes);
  if (type != element::other) require_type(type);
  return object;
}

int64_t operand::size(char axis) const {
  const char *at = std::strchr(axes_, axis);
  int index = static_cast<int>(at - axes_) - !has_batch();
  return index < 0 ? 1 : memory.shape[index];
}

int64_t operand::stride(char axis) const {
  const char *at = std::strchr(axes_, axis);
  int index = at ? static_cast<int>(at - axes_) - !has_batch() : -1;
  return index < 0 ? 0 : memory.strides[index];
}

fovea_strides operand::strides() const {
  return {stride('b'), stride('h'), stride('r')};
}

void operand::require(std::initializer_list<int64_t> sizes) const {
  if (!exists()) return;
  int left_out = !has_batch();
  bool one = !left_out || *sizes.begin() == 1;
  int axes = static_cast<int>(sizes.size()) - (left_out && one);
  require_shape(memory, name_, sizes.begin() + (left_out && one), axes);
}

void operand::require_type(element type) const {
  if (exists()) fovea_python::require_type(memory, name_, type);
}

} // namespace fovea_python
