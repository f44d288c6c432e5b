#include "layer_parts.h"

#include "../src/base/caller.h"
#include "defaults.h"
#include "linear.h"

int fovea_nn_add_linear(const fovea_nn_linear *given, fovea_nn_matrix *parts, int count) {
  fovea_nn_linear linear;
  if (!given || fovea_nn_read_linear("", given, &linear, NULL) != FOVEA_OK) return count;
  parts[count] = fovea_nn_weights_of(&linear);
  parts[count + 1] = fovea_nn_bias_of(&linear);
  return count + 2;
}

/* One row of f32. */
static fovea_nn_matrix row_of(const char *name, const void *numbers, int64_t count) {
  return (fovea_nn_matrix){name, numbers, FOVEA_F32, numbers ? 1 : 0, count, count};
}

int fovea_nn_add_norm(const fovea_nn_norm *given, fovea_nn_matrix *parts, int count) {
  fovea_nn_norm norm;
  if (!given || fovea_nn_read_norm("", given, &norm, NULL) != FOVEA_OK) return count;
  parts[count] = row_of("gamma", norm.gamma, norm.dim);
  parts[count + 1] = row_of("beta", norm.beta, norm.dim);
  return count + 2;
}

/* Doubles and int64 as two f32 each. */
static fovea_nn_matrix list_of(const char *name, const void *numbers, int64_t count) {
  return row_of(name, numbers, count * (int64_t)(sizeof(int64_t) / sizeof(float)));
}

/* Bytes as the pairs of bytes that they lie in: elements of what is written are whole pairs. */
static fovea_nn_matrix bytes_of(const char *name, const unsigned char *bytes, int64_t count) {
  const size_t before = (uintptr_t)bytes % 2;
  fovea_nn_matrix list =
      row_of(name, bytes ? (const void *)((uintptr_t)bytes - before) : NULL, (count + (int64_t)before + 1) / 2);
  list.type = FOVEA_F16;
  return list;
}

static int add_rotary(const fovea_rotary *given, fovea_nn_matrix *parts, int count) {
  fovea_rotary r;
  if (!given || fovea_read_rotary(given, &r, NULL) != FOVEA_OK) return count;
  const int64_t pairs = r.dims / 2;
  parts[count] = list_of("frequencies", r.frequencies, pairs);
  parts[count + 1] =
      (fovea_nn_matrix){"cosines", r.cosines, FOVEA_F32, r.cosines ? r.table_rows : 0, pairs, r.table_stride};
  parts[count + 2] =
      (fovea_nn_matrix){"sines", r.sines, FOVEA_F32, r.sines ? r.table_rows : 0, pairs, r.table_stride};
  parts[count + 3] = bytes_of("pair_axes", r.pair_axes, pairs);
  return count + 4;
}

int fovea_nn_add_attention(const fovea_nn_attention *given, fovea_nn_matrix *parts, int count) {
  fovea_nn_attention a;
  if (!given || fovea_nn_read_attention("", given, &a, NULL) != FOVEA_OK) return count;
  const fovea_nn_linear *linears[] = {a.query, a.key, a.value, a.output};
  for (int i = 0; i < 4; i++) count = fovea_nn_add_linear(linears[i], parts, count);
  count = add_rotary(a.rotary, parts, count);
  if (!a.bias_key) return count;
  parts[count] = row_of("bias_key", a.bias_key, a.key->out);
  parts[count + 1] = row_of("bias_value", a.bias_value, a.value->out);
  return count + 2;
}

int fovea_nn_add_positions(const fovea_nn_attention_call *call, fovea_nn_matrix *parts, int count) {
  const fovea_nn_attention_tensors *t = &call->tensors;
  fovea_rotary rotary = {.axes = 1};
  if (call->attention.rotary && fovea_read_rotary(call->attention.rotary, &rotary, NULL) != FOVEA_OK) return count;
  parts[count] = list_of("first_positions", t->first_positions, call->problem.batch);
  parts[count + 1] = list_of("rotary_positions", t->rotary_positions, rotary.axes * call->q.rows);
  parts[count + 2] = list_of("memory_positions", t->memory_positions, rotary.axes * call->memory_rows);
  return count + 3;
}

int fovea_nn_add_block(const fovea_nn_block *b, fovea_nn_matrix *parts, int count) {
  const fovea_nn_linear *linears[] = {b->up, b->down, b->gate};
  const fovea_nn_norm *norms[] = {b->self_norm, b->feed_norm, b->cross_norm};
  count = fovea_nn_add_attention(b->self, parts, count);
  count = fovea_nn_add_attention(b->cross, parts, count);
  for (int i = 0; i < 3; i++) count = fovea_nn_add_linear(linears[i], parts, count);
  for (int i = 0; i < 3; i++) count = fovea_nn_add_norm(norms[i], parts, count);
  return count;
}
