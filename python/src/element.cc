#include "element.h"

#include <cstring>

namespace fovea_python {

namespace {

const element_facts all_facts[] = {{"float32", 4}, {"float16", 2},       {"bfloat16", 2},    {"float64", 8},
                                   {"bool", 1},    {"uint8", 1},         {"int8", 1},        {"int32", 4},
                                   {"int64", 8},   {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"another type", 1}};

} // namespace

const element_facts &facts_of(element type) {
  return all_facts[static_cast<int>(type)];
}

fovea_type number_type(element type, const char *name) {
  switch (type) {
  case element::f32:
    return FOVEA_F32;
  case element::f16:
    return FOVEA_F16;
  case element::bf16:
    return FOVEA_BF16;
  default:
    refuse(name, "%s has elements of %s; they must be float32, float16 or bfloat16", name, facts_of(type).name);
  }
}

element element_named(const char *name) {
  for (int type = 0; type < static_cast<int>(element::other); type++)
    if (!std::strcmp(name, all_facts[type].name)) return static_cast<element>(type);
  return element::other;
}

element element_of_format(const char *format, Py_ssize_t bytes) {
  if (!format) return element::u8;
  if (*format == '@' || *format == '=') format++;
  if (!format[0] || format[1]) return element::other;
  switch (format[0]) {
  case 'f':
    return element::f32;
  case 'e':
    return element::f16;
  case 'd':
    return element::f64;
  case '?':
    return element::boolean;
  case 'B':
    return element::u8;
  case 'b':
    return element::i8;
  case 'i':
  case 'l':
  case 'q':
    return bytes == 4 ? element::i32 : element::i64;
  default:
    return element::other;
  }
}

} // namespace fovea_python
