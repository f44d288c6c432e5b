/* What runs here: the library, the CPU, its instruction sets, and what a plan does. */
#ifndef FOVEA_PYTHON_INFO_H
#define FOVEA_PYTHON_INFO_H

#include "errors.h"

namespace fovea_python {

void bind_info(nb::module_ &module);
void bind_explanation(nb::module_ &module);

} // namespace fovea_python

#endif
