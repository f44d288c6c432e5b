/* Operators of PyTorch for fovea.torch.one_answer(). */
#ifndef FOVEA_PYTHON_OPERATORS_H
#define FOVEA_PYTHON_OPERATORS_H

#include "errors.h"

namespace fovea_python {

void bind_operators(nb::module_ &module);

} // namespace fovea_python

#endif
