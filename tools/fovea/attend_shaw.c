#include "attend_shaw.h"
#include "inputs.h"

static bool load_table(const char *path, npy_array *table, int64_t dim, fovea_shaw which, fovea_problem *problem,
                       failure *why) {
  if (!input_load(path, NPY_SET(NPY_F32), table, why)) return false;
  if (table->rank < 2 || table->rank > 3)
    return fail(why, "%s: has %d axes; (distances, dim) or (heads, distances, dim) is needed", path, table->rank);
  const int64_t heads = table->rank == 3 ? table->shape[0] : 1, distances = table->shape[table->rank - 2];
  if (table->shape[table->rank - 1] != dim)
    return fail(why, "%s: has vectors of %lld dims; %lld are needed", path,
                (long long)table->shape[table->rank - 1], (long long)dim);
  if (distances % 2 != 1)
    return fail(why, "%s: has vectors of %lld distances; 2n + 1 are needed, from -n to n", path,
                (long long)distances);
  if (table->rank == 3 && heads != problem->heads)
    return fail(why, "%s: has tables of %lld heads; one for each query head is needed, %lld", path,
                (long long)heads, (long long)problem->heads);
  if (problem->shaw.kind && (problem->shaw.heads != heads || problem->shaw.distance != distances / 2))
    return fail(why, "%s: has %lld tables of %lld distances, and --shaw-keys %lld of %lld", path, (long long)heads,
                (long long)distances, (long long)problem->shaw.heads, (long long)(2 * problem->shaw.distance + 1));
  problem->shaw.kind = (fovea_shaw)(problem->shaw.kind | which);
  problem->shaw.heads = heads;
  problem->shaw.distance = distances / 2;
  return true;
}

bool load_shaw(const char *keys, const char *values, attend_shaw *shaw, fovea_problem *problem, failure *why) {
  return (!keys || load_table(keys, &shaw->keys, problem->qk_dim, FOVEA_SHAW_KEYS, problem, why)) &&
         (!values || load_table(values, &shaw->values, problem->v_dim, FOVEA_SHAW_VALUES, problem, why));
}

void set_shaw(const attend_shaw *shaw, fovea_tensors *tensors) {
  tensors->shaw.keys = shaw->keys.data;
  tensors->shaw.values = shaw->values.data;
}

void attend_shaw_free(attend_shaw *shaw) {
  npy_free(&shaw->keys);
  npy_free(&shaw->values);
}
