#include "values.h"

#include <cstring>
#include <string>

namespace fovea_python {

bool is_single(nb::handle value) { /* PyTorch's tensors are no sequences, but have a length */
  return PyNumber_Check(value.ptr()) && !PySequence_Check(value.ptr()) &&
         !PyType_GetSlot(Py_TYPE(value.ptr()), Py_mp_length);
}

namespace {

/* Comparisons of NumPy's numbers give these, and they are no whole numbers. */
bool is_flag_of_numpy(nb::handle value) {
  nb::object name = value.type().attr("__name__"), module = value.type().attr("__module__");
  return module.equal(nb::str("numpy")) && (name.equal(nb::str("bool")) || name.equal(nb::str("bool_")));
}

} // namespace

bool flag_of(nb::handle value, const char *name) {
  if (value.ptr() == Py_True) return true;
  if (value.ptr() == Py_False || value.is_none()) return false;
  if (!PyIndex_Check(value.ptr())) {
    if (!is_flag_of_numpy(value)) refuse_type(name, value, "True or False");
    return PyObject_IsTrue(value.ptr()) == 1;
  }
  int64_t number = integer_of(value, name);
  if (number != 0 && number != 1) refuse(name, "%s is %jd; it must be True or False", name, (intmax_t)number);
  return number == 1;
}

int64_t integer_of(nb::handle value, const char *name) {
  if (!PyIndex_Check(value.ptr())) refuse_type(name, value, "a whole number");
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  long long number = index.is_valid() ? PyLong_AsLongLong(index.ptr()) : -1;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse(name, "%s is %s; it must fit in 64 bits", name, nb::repr(value).c_str());
  }
  return number;
}

double number_of(nb::handle value, const char *name) {
  double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    refuse_type(name, value, "a number");
  }
  return number;
}

const char *word_of(nb::handle value, const char *name) {
  if (!nb::isinstance<nb::str>(value)) refuse_type(name, value, "a word, str");
  const char *word = PyUnicode_AsUTF8AndSize(value.ptr(), nullptr);
  if (!word) throw nb::python_error();
  return word;
}

int choice_of(nb::handle value, const char *name, const choice *choices, size_t count) {
  const char *word = word_of(value, name);
  for (const choice *each = choices; each < choices + count; each++)
    if (!std::strcmp(word, each->word)) return each->meaning;
  std::string words;
  for (const choice *each = choices; each < choices + count; each++)
    words += std::string(words.empty() ? "'" : ", '") + each->word + "'";
  refuse(name, "%s is '%s'; it must be one of %s", name, word, words.c_str());
}

bool is_pair(nb::handle value) {
  return (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) && PySequence_Size(value.ptr()) == 2;
}

nb::object part_of(nb::handle value, const char *name, int count, int index) {
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr())) refuse_type(name, value, "a tuple");
  Py_ssize_t size = PySequence_Size(value.ptr());
  if (size != count) refuse(name, "%s has %zd parts; it must have %d", name, (ssize_t)size, count);
  return nb::steal(PySequence_GetItem(value.ptr(), index));
}

namespace {

int64_t limit(nb::handle value, const char *field, const char *name) {
  if (value.is_none()) return FOVEA_UNLIMITED;
  int64_t number = integer_of(value, field);
  if (number < 0) refuse(field, "%s is %jd; it must be 0 or more, or None for no limit", name, (intmax_t)number);
  return number;
}

} // namespace

int64_t limit_of(nb::handle value, const char *name) {
  return limit(value, name, name);
}

int64_t limit_part(nb::handle value, const char *name, int count, int index) {
  std::string place = std::string(name) + "[" + std::to_string(index) + "]";
  return limit(part_of(value, name, count, index), name, place.c_str());
}

fovea_range range_of(nb::handle value, const char *name) {
  return {integer_of(part_of(value, name, 2, 0), name), limit_part(value, name, 2, 1)};
}

namespace {

bool is_list(nb::handle value) {
  return PyTuple_Check(value.ptr()) || PyList_Check(value.ptr());
}

template <class number, class reader>
std::vector<number> read_list(nb::handle value, const char *name, reader read) {
  std::vector<number> numbers;
  Py_ssize_t count = PySequence_Size(value.ptr());
  numbers.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; i++)
    numbers.push_back(read(nb::steal(PySequence_GetItem(value.ptr(), i)), name));
  return numbers;
}

/* Elements of a tensor with one axis, or of a contiguous one. */
template <class number, class first, class second>
std::vector<number> read_tensor(const tensor &list, bool is_first, const char *name) {
  int64_t count = 1, stride = list.axes == 1 ? list.strides[0] : 1;
  if (list.axes != 1) require_contiguous(list, name);
  for (int axis = 0; axis < list.axes; axis++) count *= list.shape[axis];
  std::vector<number> numbers;
  numbers.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; i++)
    numbers.push_back(is_first ? static_cast<first *>(list.data)[i * stride]
                               : static_cast<second *>(list.data)[i * stride]);
  return numbers;
}

} // namespace

std::vector<int64_t> integers_of(nb::handle value, const char *name, bool any_axes) {
  if (is_list(value)) return read_list<int64_t>(value, name, integer_of);
  tensor list;
  list.read_strided(value, name);
  if ((list.axes != 1 && !any_axes) || (list.type != element::i64 && list.type != element::i32))
    refuse(name, "%s is a tensor of %s of the shape %s; it must be a list of int64 or int32", name,
           facts_of(list.type).name, shape_text(list).text);
  return read_tensor<int64_t, int64_t, int32_t>(list, list.type == element::i64, name);
}

std::vector<double> numbers_of(nb::handle value, const char *name) {
  if (is_list(value)) return read_list<double>(value, name, number_of);
  tensor list;
  list.read_strided(value, name);
  if (list.axes != 1 || (list.type != element::f64 && list.type != element::f32))
    refuse(name, "%s is a tensor of %s of the shape %s; it must be a list of float64 or float32", name,
           facts_of(list.type).name, shape_text(list).text);
  return read_tensor<double, double, float>(list, list.type == element::f64, name);
}

void require_count(size_t count, int64_t wanted, const char *name, const char *what) {
  if (static_cast<int64_t>(count) != wanted)
    refuse(name, "%s has %zu numbers; it must have %jd, %s", name, count, (intmax_t)wanted, what);
}

const int64_t *batch_list(std::vector<int64_t> &list, nb::handle given, const char *name, int64_t batch) {
  if (given.is_none()) return nullptr;
  list = integers_of(given, name);
  require_count(list.size(), batch, name, "one for each batch element");
  return list.data();
}

std::vector<int64_t> batch_counts(nb::handle given, const char *name, int64_t batch, int64_t most) {
  std::vector<int64_t> counts(static_cast<size_t>(batch), most);
  if (!given.is_none()) batch_list(counts, given, name, batch);
  for (size_t b = 0; b < counts.size(); b++)
    if (counts[b] < 0 || counts[b] > most)
      refuse(name, "%s[%zu] is %jd; it must be from 0 to %jd", name, b, (intmax_t)counts[b], (intmax_t)most);
  return counts;
}

void set_one_or_each(int64_t &one, const int64_t *&each, std::vector<int64_t> &list, nb::handle given,
                     const char *name, int64_t batch) {
  if (!given.is_none() && is_single(given))
    one = integer_of(given, name);
  else
    each = batch_list(list, given, name, batch);
}

std::vector<int32_t> offsets_of(nb::handle value, const char *name) {
  std::vector<int64_t> numbers = integers_of(value, name);
  if (numbers.size() < 2)
    refuse(name, "%s has %zu numbers; it must have one more than sequences", name, numbers.size());
  std::vector<int32_t> offsets;
  for (size_t i = 0; i < numbers.size(); i++) {
    if (numbers[i] < 0 || numbers[i] > INT32_MAX || (i && numbers[i] < numbers[i - 1]))
      refuse(name, "%s[%zu] is %jd; numbers must be from 0 to %d and never decrease", name, i, (intmax_t)numbers[i],
             INT32_MAX);
    offsets.push_back(static_cast<int32_t>(numbers[i]));
  }
  return offsets;
}

} // namespace fovea_python
