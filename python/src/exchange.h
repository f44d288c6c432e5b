/* How tensors of other libraries are reached by DLPack: types of elements, and the functions that a type of tensors has. */
#ifndef FOVEA_PYTHON_EXCHANGE_H
#define FOVEA_PYTHON_EXCHANGE_H

#include "dlpack.h"
#include "tensor.h"

namespace fovea_python {

element element_of_dlpack(dlpack::element_type type);
dlpack::element_type dlpack_of_element(element type);

/* The functions of a tensor's type that NumPy arrays do not have and PyTorch's tensors do; NULL: none. */
dlpack::exchange *exchange_of(nb::handle object);

} // namespace fovea_python

#endif
