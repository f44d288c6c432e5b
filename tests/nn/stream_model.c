#include "nn/stream_model.h"

#include "support/check.h"
#include "support/execution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float numbers[60000], sinks[MOST_LAYERS * HEADS];

static void make_layer(struct model *m, int layer, int kind) {
  static const int64_t sizes[7][2] = {{DIM, HEADS * QK_DIM},
                                      {DIM, KV_HEADS * QK_DIM},
                                      {DIM, KV_HEADS * V_DIM},
                                      {HEADS * V_DIM, DIM},
                                      {DIM, HIDDEN},
                                      {HIDDEN, DIM},
                                      {DIM, HIDDEN}};
  struct parts *p = &m->parts[layer];
  const float *next = numbers + layer * 20000;
  for (int i = 0; i < 7; i++) {
    fovea_nn_linear_init(&p->linears[i], sizes[i][0], sizes[i][1], next + 1000 * i);
    p->linears[i].bias = next + 8000 + 100 * i;
  }
  p->linears[4].activation = FOVEA_NN_ACTIVATION_SILU;
  for (int i = 0; i < 2; i++) {
    fovea_nn_norm_init(&p->norms[i], FOVEA_NN_LAYER_NORM, DIM);
    p->norms[i].gamma = next + 9000 + 100 * i;
  }
  fovea_nn_attention_init(&p->attention, &p->linears[0], &p->linears[1], &p->linears[2], &p->linears[3]);
  if (kind & ROTARY) p->attention.rotary = &m->rotary;
  fovea_nn_block_init(&p->block, &p->attention, &p->norms[0], &p->linears[4], &p->linears[5], &p->norms[1]);
  p->block.norm_first = kind & NORM_FIRST ? 1 : 0;
  if (kind & GATE) p->block.gate = &p->linears[6];
  m->blocks[layer] = &p->block;
}

void make_model(struct model *m, int layers, int64_t left, int64_t right, int64_t chunk, int kind,
                const char *isa) {
  memset(m, 0, sizeof *m);
  fovea_rotary_init(&m->rotary, FOVEA_ROTARY_HALVES, 4);
  for (int i = 0; i < layers; i++) make_layer(m, i, kind);
  fovea_problem_init(&m->problem, 1, HEADS, KV_HEADS, 0, 0, QK_DIM, V_DIM);
  m->problem.window_left = left;
  m->problem.window_right = right;
  m->isa = isa;
  if (kind & SINKS) m->problem.sink = FOVEA_SINK_PER_HEAD;
  if (kind & SOFTCAP) m->problem.softcap = 3;
  if (kind & CAUSAL) {
    m->problem.causal = 1;
    m->problem.window_right = FOVEA_UNLIMITED;
  }
  fovea_nn_streaming_init(&m->streaming, layers, m->blocks, &m->problem, chunk);
  if (kind & SINKS) m->streaming.sink = sinks;
}

void compute_whole(const struct model *m, int64_t frames, const float *x, float *y) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, frames, frames, QK_DIM, V_DIM);
  problem.window_left = m->problem.window_left;
  problem.window_right = m->problem.window_right;
  problem.causal = m->problem.causal;
  problem.chunks.size = m->problem.chunks.size;
  problem.chunks.left = m->problem.chunks.left;
  problem.chunks.right = m->problem.chunks.right;
  problem.softcap = m->problem.softcap;
  problem.sink = m->problem.sink;
  memcpy(y, x, (size_t)(frames * DIM) * sizeof *y);
  for (int64_t i = 0; i < m->streaming.layers; i++) {
    fovea_nn_attention_tensors tensors;
    fovea_error error;
    fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
    if (m->streaming.sink) tensors.sink = sinks + i * HEADS;
    const fovea_nn_attending self = {&problem, &tensors};
    if (fovea_nn_block_run(m->blocks[i], &self, NULL, y, y, on_isa(m->isa), &error) != FOVEA_OK)
      fail_msg("%s", error.text);
  }
}

struct stream stream_create(const struct model *m, enum guarded_edge edge) {
  struct stream s;
  fovea_error error;
  size_t size;
  if (fovea_nn_stream_size(&m->streaming, &size, &error) != FOVEA_OK) fail_msg("%s", error.text);
  s.memory = guarded_create(size, edge);
  if (fovea_nn_stream_create_in(&m->streaming, s.memory.data, s.memory.size, &s.stream, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  return s;
}

void stream_destroy(struct stream *s) {
  assert_true(guarded_slack_intact(&s->memory));
  guarded_destroy(&s->memory);
}

static int64_t next_rows(struct cut *cut, int64_t left) {
  const int64_t rows = cut->step ? cut->step : generator_below(&cut->generator, 12);
  return rows < left ? rows : left;
}

/* The last frame that a row of one layer may see. */
static int64_t last_seen(const fovea_problem *p, int64_t row) {
  int64_t last = INT64_MAX;
  if (p->causal) last = row;
  if (p->window_right != FOVEA_UNLIMITED && row + p->window_right < last) last = row + p->window_right;
  if (p->chunks.size > 0 && p->chunks.right != FOVEA_UNLIMITED) {
    int64_t end = row;
    while ((end + 1) % p->chunks.size != 0) end++;
    if (end + p->chunks.right < last) last = end + p->chunks.right;
  }
  return last;
}

int64_t rows_out(const struct model *m, int64_t frames) {
  int64_t rows = 0;
  for (; rows < frames; rows++) {
    int64_t last = rows;
    for (int64_t layer = 0; layer < m->streaming.layers; layer++) last = last_seen(&m->problem, last);
    if (last >= frames) break;
  }
  return rows;
}

void stream_all(const struct model *m, fovea_nn_stream *stream, struct cut cut, int64_t frames, const float *x,
                float *y, const fovea_execution *execution) {
  fovea_error error;
  int64_t done = 0, out = 0, written;
  while (done < frames) {
    const int64_t rows = next_rows(&cut, frames - done), wanted = fovea_nn_stream_rows(stream, rows);
    if (fovea_nn_stream_push(stream, rows, x + done * DIM, y + out * DIM, &written, execution, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    done += rows;
    out += written;
    assert_int_equal(written, wanted);
    if (frames < 1000 || done % 97 == 0) assert_int_equal(out, rows_out(m, done));
    assert_int_equal(fovea_nn_stream_pending(stream), done - out);
  }
  if (fovea_nn_stream_finish(stream, y + out * DIM, &written, execution, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_int_equal(out + written, frames);
  assert_int_equal(fovea_nn_stream_pending(stream), 0);
}

float *frames_create(int64_t frames, int special, struct generator *generator) {
  float *x = malloc((size_t)(frames * DIM + 1) * sizeof *x);
  static const float specials[] = {NAN, INFINITY, -0.0F, 0x1p-140F, 1e30F};
  assert_non_null(x);
  for (int64_t i = 0; i < frames * DIM; i++) {
    x[i] = generator_uniform(generator);
    if (special && generator_below(generator, special) == 0) x[i] = specials[generator_below(generator, 5)];
  }
  return x;
}

void assert_streams(const struct model *m, int64_t frames, int special, struct generator *generator,
                    const fovea_execution *execution) {
  const int64_t steps[] = {1, 3, 7, frames > 0 ? frames : 1, 0};
  float *x = frames_create(frames, special, generator);
  float *expected = malloc((size_t)(frames * DIM + 1) * sizeof *expected);
  assert_non_null(expected);
  compute_whole(m, frames, x, expected);
  struct stream s = stream_create(m, frames % 2 ? GUARD_AT_END : GUARD_AT_START);
  for (int i = 0; i < 5; i++) { /* the same stream, again and again */
    struct guarded y = guarded_create((size_t)(frames * DIM) * sizeof(float), GUARD_AT_END);
    const struct cut cut = {steps[i], {generator_bits(generator)}};
    stream_all(m, s.stream, cut, frames, x, (float *)(void *)y.data, execution);
    if (memcmp(y.data, expected, y.size) != 0)
      fail_msg("other bits: %s, window %d %d, chunks %d %d %d, chunk %d, %d layers, %d frames, step %d",
               m->isa ? m->isa : "", (int)m->problem.window_left, (int)m->problem.window_right,
               (int)m->problem.chunks.size, (int)m->problem.chunks.left, (int)m->problem.chunks.right,
               (int)m->streaming.chunk, (int)m->streaming.layers, (int)frames, (int)steps[i]);
    guarded_destroy(&y);
  }
  stream_destroy(&s);
  free(x);
  free(expected);
}

void set_rules(struct model *m, const struct rules *rules) {
  m->problem.window_left = rules->left;
  m->problem.window_right = rules->right;
  m->problem.chunks.size = rules->size;
  m->problem.chunks.left = rules->chunk_left;
  m->problem.chunks.right = rules->chunk_right;
  m->problem.causal = rules->causal;
}

int make_numbers(void **state) {
  (void)state;
  struct generator generator = {37};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) sinks[i] = generator_uniform(&generator);
  return 0;
}
