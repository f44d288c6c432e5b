/* attention(), and plans. */
#ifndef FOVEA_PYTHON_ATTENTION_H
#define FOVEA_PYTHON_ATTENTION_H

#include "errors.h"

namespace fovea_python {

void bind_attention(nb::module_ &module);
void bind_plan(nb::module_ &module);

} // namespace fovea_python

#endif
