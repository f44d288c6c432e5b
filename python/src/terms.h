/* Position terms as Python objects: a rule, and the tensor with its numbers. */
#ifndef FOVEA_PYTHON_TERMS_H
#define FOVEA_PYTHON_TERMS_H

#include "errors.h"

#include <fovea/terms.h>

namespace fovea_python {

struct position_term {
  fovea_position_term term;
  nb::object numbers;
  /* The axes of the numbers: which of batch, head and place each axis is, 'b', 'h', 'p', the last axis last. */
  const char *axes;
  int64_t places; /* how many numbers a head has */
};

void bind_terms(nb::module_ &module);

} // namespace fovea_python

#endif
