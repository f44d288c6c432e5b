/* The keywords of attention, plans and their runs, in one table: what a keyword is called, what it means, who has it, and
 * how it becomes fields of the library's structs. Signatures and docstrings are made from the table. */
#ifndef FOVEA_PYTHON_OPTIONS_H
#define FOVEA_PYTHON_OPTIONS_H

#include "values.h"

#include <string>

namespace fovea_python {

class attention_call;

/* Who has a keyword. */
enum function : unsigned { in_attention = 1, in_plan = 2, in_run = 4, in_layer = 8, in_stream = 16 };
constexpr unsigned in_problem = in_attention | in_plan | in_layer; /* a rule: a plan keeps it */
constexpr unsigned in_tensors = in_attention | in_run | in_layer;  /* memory of one run */
constexpr unsigned in_all = in_problem | in_tensors; /* a tensor whose type and strides a plan keeps */
constexpr unsigned not_in_layer = ~0u ^ in_layer;

struct option {
  const char *name;
  const char *type; /* as stubs write it; the default is None */
  const char *text; /* for docstrings */
  unsigned functions;
  bool before_sizes; /* sizes of Q, K and V depend on it */
  void (*set)(attention_call &call, nb::handle value, const char *name);
};

/* The parts of the table, by subject. A later option may use what an earlier one has set. */
struct option_list {
  const option *first;
  size_t count;
};
option_list visibility_options();
option_list score_options();
option_list weight_options();
option_list output_options();
option_list cache_options();
option_list execution_options();

/* Sets those options of the keywords (a dict) that are set before sizes, or after. Refuses keywords that the function
 * has not. None is as if the keyword were not given. */
class given_options {
public:
  given_options(nb::handle keywords, function function);
  void set(attention_call &call, bool before_sizes) const;
  nb::handle value(const char *name) const; /* invalid: not given */
  static constexpr size_t most = 64;        /* keywords of the table */

private:
  PyObject *values_[most];
};

/* "def <head>, *, causal: bool | None = None, ...) -> <result>", and lines that say what each keyword is. */
std::string signature_of(const char *head, const char *result, function function);
std::string text_of_options(function function);

} // namespace fovea_python

#endif
