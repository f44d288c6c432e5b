/* Rotary embeddings. */
#ifndef FOVEA_PYTHON_ROTARY_H
#define FOVEA_PYTHON_ROTARY_H

#include "errors.h"

#include <fovea/rotary.h>

#include <vector>

namespace fovea_python {

/* An embedding with the arrays that it points to. */
class rotary {
public:
  rotary(int64_t dims, nb::handle layout, nb::handle base, nb::handle frequencies, nb::handle cosines,
         nb::handle sines, nb::handle sections, nb::handle section_layout);

  const fovea_rotary &embedding() const { return embedding_; }
  double attention_factor = 1; /* what a model multiplies cosines and sines by */

private:
  void set_tables(nb::handle cosines, nb::handle sines);
  void set_sections(nb::handle sections, nb::handle layout);

  fovea_rotary embedding_;
  std::vector<double> frequencies_;
  std::vector<float> cosines_, sines_;
  std::vector<unsigned char> pair_axes_;
};

/* None: no embedding. */
const fovea_rotary *rotary_of(nb::handle value, const char *name);

void bind_rotary(nb::module_ &module);

} // namespace fovea_python

#endif
