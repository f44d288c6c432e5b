#include "attend_vectors.h"
#include "inputs.h"

static bool load(const char *path, npy_array *vectors, int64_t dim, int64_t kv_heads, fovea_channels *set,
                 failure *why) {
  if (!path) return true;
  if (!input_load(path, NPY_SET(NPY_F32), vectors, why)) return false;
  if (vectors->rank < 1 || vectors->rank > 2)
    return fail(why, "%s: has %d axes; (dim) or (heads, dim) is needed", path, vectors->rank);
  if (vectors->shape[vectors->rank - 1] != dim)
    return fail(why, "%s: has vectors of %lld dims; %lld are needed", path,
                (long long)vectors->shape[vectors->rank - 1], (long long)dim);
  if (vectors->rank == 2 && vectors->shape[0] != kv_heads)
    return fail(why, "%s: has %lld vectors; one for each head of K is needed, %lld", path,
                (long long)vectors->shape[0], (long long)kv_heads);
  *set = vectors->rank == 2 ? FOVEA_CHANNELS_PER_HEAD : FOVEA_CHANNELS_SHARED;
  return true;
}

bool load_vectors(const attend_options *options, attend_vectors *vectors, fovea_problem *problem, failure *why) {
  fovea_problem *p = problem;
  return load(options->key_centre, &vectors->key_centre, p->qk_dim, p->kv_heads, &p->channels.key_centre, why) &&
         load(options->key_scale, &vectors->key_scale, p->qk_dim, p->kv_heads, &p->channels.key_scale, why) &&
         load(options->value_scale, &vectors->value_scale, p->v_dim, p->kv_heads, &p->channels.value_scale, why);
}

void set_vectors(const attend_vectors *vectors, fovea_tensors *tensors) {
  tensors->channels.key_centre = vectors->key_centre.data;
  tensors->channels.key_scale = vectors->key_scale.data;
  tensors->channels.value_scale = vectors->value_scale.data;
}

void attend_vectors_free(attend_vectors *vectors) {
  npy_free(&vectors->key_centre);
  npy_free(&vectors->key_scale);
  npy_free(&vectors->value_scale);
}
