#include "max_logits.h"

#include "../../arch/float_state.h"
#include "../plan/row_numbers.h"
#include "../state/row_states.h"
#include "run.h"

#include <string.h>

/* By bits, since a compiler may assume that there are no NaNs. */
static int is_nan(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

void fovea_keep_maxima(const fovea_plan *plan, const fovea_entry *entry, const fovea_tile *t,
                       const fovea_tile_state *state, float *shared) {
  float *maxima = fovea_row_numbers_of(plan, shared).maxima;
  if (!maxima) return;
  for (int i = 0; i < t->rows.count; i++) {
    const int64_t first = fovea_row_number(plan, entry, t->places[i].head);
    maxima[first + t->places[i].row] = is_nan(state->row_sum[i]) ? state->row_sum[i] : state->row_max[i];
  }
}

/* The largest is the same in any order. */
static float largest(const float *maxima, int64_t count) {
  float most = -__builtin_inff();
  for (int64_t i = 0; i < count; i++) {
    if (is_nan(maxima[i])) return maxima[i];
    if (maxima[i] > most) most = maxima[i];
  }
  return most;
}

void fovea_max_logits_task(const void *data, int64_t number, int worker) {
  const fovea_run *run = data;
  const fovea_plan *plan = run->plan;
  const fovea_entry *entry = &plan->entries[number / plan->problem.heads];
  const int64_t head = number % plan->problem.heads;
  float *shared = (float *)(void *)(run->scratch + (size_t)run->workers * plan->worker_scratch);
  const float *maxima = fovea_row_numbers_of(plan, shared).maxima + fovea_row_number(plan, entry, head);
  (void)worker;
  const fovea_float_state caller = fovea_float_begin();
  volatile float most = largest(maxima, entry->q_len); /* computed between these two */
  most = 0x1.62e43p-1f * most;
  run->tensors.max_logits[entry->batch * plan->problem.heads + head] = fovea_canonical(most);
  fovea_float_end(caller);
}
