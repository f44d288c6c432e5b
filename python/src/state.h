/* States: attention over some of the keys, to be merged with attention over others. */
#ifndef FOVEA_PYTHON_STATE_H
#define FOVEA_PYTHON_STATE_H

#include "shape.h"

#include <fovea/state.h>

namespace fovea_python {

/* A state with its memory. */
class state {
public:
  /* Makes one that is not filled: of outputs of this shape (2 to 4 axes, the last is the dim), made as `like` is. */
  state(nb::handle like, const int64_t *shape, int axes, fovea_range keys,
        const fovea_problem_normaliser &normaliser);
  state(nb::handle numbers, nb::handle keys, nb::handle normaliser); /* of numbers that come from elsewhere */

  nb::object merge(const state &right, int threads) const;
  nb::object finish(nb::handle sink, bool lse, nb::handle out, int threads) const;

  const fovea_state &described() const { return described_; }
  nb::object numbers() const { return numbers_; }
  fovea_range keys() const { return described_.keys; }

private:
  void describe(int64_t dim, fovea_range keys);

  nb::object numbers_; /* float32 (batch, heads, rows, numbers) */
  tensor memory_;
  fovea_state described_;
  fovea_problem_normaliser normaliser_;
};

void bind_state(nb::module_ &module);

} // namespace fovea_python

#endif
