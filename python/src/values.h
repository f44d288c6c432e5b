/* Python's numbers, words and lists as arguments: each reader refuses what it cannot take, by the argument's name. */
#ifndef FOVEA_PYTHON_VALUES_H
#define FOVEA_PYTHON_VALUES_H

#include "shape.h"

#include <initializer_list>
#include <vector>

namespace fovea_python {

/* One word of several, and what it stands for. */
struct choice {
  const char *word;
  int meaning;
};

bool is_single(nb::handle value); /* a number of Python or NumPy, and no tensor, which may convert to one, too */
bool flag_of(nb::handle value, const char *name);
int64_t integer_of(nb::handle value, const char *name);
double number_of(nb::handle value, const char *name);
const char *word_of(nb::handle value, const char *name); /* lives as long as the value */
int choice_of(nb::handle value, const char *name, const choice *choices, size_t count);
inline int choice_of(nb::handle value, const char *name, std::initializer_list<choice> choices) {
  return choice_of(value, name, choices.begin(), choices.size());
}

/* Element `index` of a tuple or list, which must have `count` elements. */
nb::object part_of(nb::handle value, const char *name, int count, int index);
bool is_pair(nb::handle value); /* a tuple or list of two */

/* A number from 0 on, or None: no limit. The library's own number for no limit is refused here: it would be a rule that
 * is set and hides nothing. limit_part() is for element `index` of a tuple or list of `count`. */
int64_t limit_of(nb::handle value, const char *name);
int64_t limit_part(nb::handle value, const char *name, int count, int index);
fovea_range range_of(nb::handle value, const char *name); /* (begin, end), end may be None */

/* A list of whole numbers, or a tensor of int32 or int64 with one axis; with `any_axes`, a contiguous tensor of any
 * shape, row by row. */
std::vector<int64_t> integers_of(nb::handle value, const char *name, bool any_axes = false);

/* The same for numbers: a list, or a contiguous tensor of float32 or float64 with one axis. */
std::vector<double> numbers_of(nb::handle value, const char *name);

/* A list with a number for each batch element; None: NULL. `list` has the numbers. */
const int64_t *batch_list(std::vector<int64_t> &list, nb::handle given, const char *name, int64_t batch);

/* The same, each from 0 to `most`; None: `most` for all. */
std::vector<int64_t> batch_counts(nb::handle given, const char *name, int64_t batch, int64_t most);

/* Sets `one` to a number for all batch elements, or `each` to such a list; None: neither. */
void set_one_or_each(int64_t &one, const int64_t *&each, std::vector<int64_t> &list, nb::handle given,
                     const char *name, int64_t batch);

/* Where each sequence of a packed batch begins, and the last ends: numbers that never decrease. */
std::vector<int32_t> offsets_of(nb::handle value, const char *name);

/* Refuses a list that has not `count` numbers, `what` in words: "one for each batch element". */
void require_count(size_t count, int64_t wanted, const char *name, const char *what);

} // namespace fovea_python

#endif
