#include "row_weights.h"

#include "../plan/row_numbers.h"

#if FOVEA_BUILDS_OUTPUTS

void fovea_keep_row_weights(const fovea_plan *plan, const fovea_entry *entry, const fovea_tile *t, float *shared,
                            const float *references, const float *inverses) {
  const fovea_row_numbers numbers = fovea_row_numbers_of(plan, shared);
  for (int i = 0; i < t->rows.count; i++) {
    const fovea_row_place place = t->places[i];
    const int64_t row = fovea_row_number(plan, entry, place.head) + place.row;
    numbers.references[row] = references[i];
    numbers.inverses[row] = inverses[i];
  }
}
#endif
