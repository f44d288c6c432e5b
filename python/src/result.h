/* What a call gives if more than O is wanted. */
#ifndef FOVEA_PYTHON_RESULT_H
#define FOVEA_PYTHON_RESULT_H

#include "errors.h"

namespace fovea_python {

struct attention_result {
  nb::object o, lse, scores, max_logits, top_keys, top_scores, entropy, column_sums;
};

void bind_result(nb::module_ &module);

} // namespace fovea_python

#endif
