/* Variants of attention. */
#ifndef FOVEA_PYTHON_VARIANTS_H
#define FOVEA_PYTHON_VARIANTS_H

#include "layers.h"
#include "operand.h"
#include "values.h"

namespace fovea_python {

void bind_recurrent(nb::module_ &module);
void bind_linear_attention(nb::module_ &module);
void bind_graph(nb::module_ &module);
void bind_performer(nb::module_ &module);
void bind_linformer(nb::module_ &module);
void bind_differential(nb::module_ &module);
void bind_latent(nb::module_ &module);
void bind_longformer(nb::module_ &module);
void bind_lsh(nb::module_ &module);
void bind_selection(nb::module_ &module);

} // namespace fovea_python

#endif
