/* Patterns: which keys a row may see, as rules joined by and, or, not. */
#ifndef FOVEA_PYTHON_PATTERN_H
#define FOVEA_PYTHON_PATTERN_H

#include "errors.h"

#include <fovea/pattern.h>

#include <memory>
#include <vector>

namespace fovea_python {

/* A rule with the lists and rules that it points to. */
struct rule {
  fovea_rule rule;
  std::vector<int64_t> numbers, row_numbers, starts;
  std::shared_ptr<const fovea_python::rule> left, right;
};

class pattern {
public:
  pattern(nb::handle rules, int64_t rows, int64_t keys, int64_t first_row, bool by_row);
  explicit pattern(fovea_pattern *compiled) : compiled_(compiled) {}
  const fovea_pattern *compiled() const { return compiled_.get(); }

private:
  struct destroy {
    void operator()(fovea_pattern *pattern) const { fovea_pattern_destroy(pattern); }
  };
  std::unique_ptr<fovea_pattern, destroy> compiled_;
};

void bind_pattern(nb::module_ &module);

} // namespace fovea_python

#endif
