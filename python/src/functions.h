/* Functions of numbers and sums with one answer, for operators of PyTorch that fovea_nn does not have (fovea.torch). */
#ifndef FOVEA_PYTHON_FUNCTIONS_H
#define FOVEA_PYTHON_FUNCTIONS_H

#include "errors.h"

namespace fovea_python {

void bind_functions(nb::module_ &module);

} // namespace fovea_python

#endif
