#include "attend_terms.h"
#include "inputs.h"

static void add_term(attend_terms *terms, fovea_position_term term, fovea_problem *problem) {
  terms->numbers[terms->count] = terms->arrays[terms->count].data;
  terms->terms[terms->count++] = term;
  fovea_problem_set_terms(problem, terms->terms, terms->count);
}

bool load_alibi(const char *path, attend_terms *terms, fovea_problem *problem, failure *why) {
  npy_array *slopes = &terms->arrays[terms->count];
  fovea_position_term term = fovea_term_alibi(0);
  if (!input_load(path, NPY_SET(NPY_F32), slopes, why)) return false;
  if (slopes->rank < 1 || slopes->rank > 2)
    return fail(why, "%s: has %d axes; (heads) or (batch, heads) is needed", path, slopes->rank);
  const long long heads = slopes->shape[slopes->rank - 1];
  if (heads != problem->heads)
    return fail(why, "%s: has slopes of %lld heads; one for each query head is needed, %lld", path, heads,
                (long long)problem->heads);
  if (slopes->rank == 2 && slopes->shape[0] != problem->batch)
    return fail(why, "%s: has slopes of %lld batch elements; %lld are needed", path, (long long)slopes->shape[0],
                (long long)problem->batch);
  if (slopes->rank == 2) term.batch = problem->heads;
  add_term(terms, term, problem);
  return true;
}

bool load_relative(const char *path, attend_terms *terms, fovea_problem *problem, failure *why) {
  npy_array *table = &terms->arrays[terms->count];
  if (!input_load(path, NPY_SET(NPY_F32), table, why)) return false;
  if (table->rank < 1 || table->rank > 2)
    return fail(why, "%s: has %d axes; (distances) or (heads, distances) is needed", path, table->rank);
  const int64_t distances = table->shape[table->rank - 1];
  if (distances % 2 != 1)
    return fail(why, "%s: has numbers of %lld distances; 2n + 1 are needed, from -n to n", path,
                (long long)distances);
  if (table->rank == 2 && table->shape[0] != problem->heads)
    return fail(why, "%s: has tables of %lld heads; one for each query head is needed, %lld", path,
                (long long)table->shape[0], (long long)problem->heads);
  fovea_position_term term = fovea_term_relative(distances / 2, distances / 2);
  if (table->rank == 1) term.head = 0;
  add_term(terms, term, problem);
  return true;
}

void attend_terms_free(attend_terms *terms) {
  for (int i = 0; i < ATTEND_TERMS; i++) npy_free(&terms->arrays[i]);
}
