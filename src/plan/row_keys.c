/* Which keys a row sees by the rules and the pattern, for callers. */
#include "../base/error.h"
#include "../base/groups.h"
#include "../visible/visible_words.h"
#include "plan.h"

#include <fovea/explain.h>

#if FOVEA_BUILDS_EXPLAIN

static const fovea_entry *entry_of(const fovea_plan *plan, int64_t batch) {
  const fovea_entry *entry = plan->entries; /* sorted by length */
  while (entry->batch != batch) entry++;
  return entry;
}

static fovea_status check(const fovea_plan *plan, int64_t element, int64_t head, int64_t row, int64_t first_key,
                          int64_t words, fovea_error *error) {
  const struct {
    const char *name;
    int64_t value, end;
  } places[] = {{"element", element, plan->problem.batch}, {"head", head, plan->problem.heads}};
  for (int i = 0; i < 2; i++) {
    if (places[i].value < 0 || places[i].value >= places[i].end)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be from 0 to %jd", places[i].name,
                        places[i].value, places[i].end - 1);
  }
  const int64_t rows = entry_of(plan, element)->q_len, most = (INT64_C(1) << 48) / FOVEA_WORD_KEYS;
  if (row < 0 || row >= rows)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "row is %jd; the sequence has %jd rows", row, rows);
  if (first_key < 0 || first_key % FOVEA_WORD_KEYS || first_key / FOVEA_WORD_KEYS > most)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "first_key is %jd; it must be a multiple of %jd from 0 to 2^48",
                      first_key, (int64_t)FOVEA_WORD_KEYS);
  if (words < 0 || words > most)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "words is %jd; it must be from 0 to %jd", words, most);
  return FOVEA_OK;
}

fovea_status fovea_plan_row_keys(const fovea_plan *plan, int64_t element, int64_t head, int64_t row,
                                 int64_t first_key, int64_t words, uint64_t *visible, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  if (!visible && words > 0) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "visible is NULL");
  const fovea_status status = check(plan, element, head, row, first_key, words, error);
  if (status) return status;
  const fovea_visibility by = fovea_visibility_of(plan, entry_of(plan, element), head / plan->group);
  fovea_visible_words(&by, (fovea_row_place){head, row}, first_key, words, visible);
  return FOVEA_OK;
}
#else
fovea_status fovea_plan_row_keys(const fovea_plan *plan, int64_t element, int64_t head, int64_t row,
                                 int64_t first_key, int64_t words, uint64_t *visible, fovea_error *error) {
  (void)plan, (void)element, (void)head, (void)row, (void)first_key, (void)words, (void)visible;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_EXPLAIN, error);
}
#endif
