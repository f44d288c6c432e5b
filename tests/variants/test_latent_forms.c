/* Multi-head latent attention: the distance between the forms, padding, refusals. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/guarded.h"
#include "support/trial.h"
#include "support/types.h"
#include "variants/latent_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings on the way of a product in a dot product. */
static double depth(int64_t dims) {
  return (double)((dims < 128 ? dims : 128) + (dims + 127) / 128 - 1);
}

/* The bound of clause L20 for one head of one row, from numbers of the contract in double, for each of its outputs.
 */
static void bound_head(const struct model *m, int64_t h, const float *q, const float *latents, int64_t own,
                       double scale, double *bounds, double *sizes) {
  const struct shape *s = &m->shape;
  const int64_t width = s->rank + s->rope;
  const float *w = m->kv_b + h * (s->nope + s->v) * s->rank, *w_v = w + s->nope * s->rank;
  const double n = depth(s->rank) + depth(s->nope) + depth(s->nope + s->rope) + depth(width);
  double score[ROWS], largest = -1e300, most = 0, sum = 0;
  for (int64_t j = 0; j <= own; j++) {
    const float *c = latents + j * width;
    double size = 0;
    score[j] = 0;
    for (int64_t d = 0; d < s->nope + s->rope; d++)
      for (int64_t r = 0; r < (d < s->nope ? s->rank : 1); r++) {
        const double k = d < s->nope ? (double)w[d * s->rank + r] * (double)c[r] : (double)c[s->rank + d - s->nope];
        score[j] += scale * (double)q[d] * k;
        size += fabs(scale * (double)q[d] * k);
      }
    most = fmax(most, size);
    largest = fmax(largest, score[j]);
  }
  for (int64_t j = 0; j <= own; j++) sum += exp(score[j] - largest);
  for (int64_t e = 0; e < s->v; e++) {
    double size = 0;
    for (int64_t j = 0; j <= own; j++)
      for (int64_t r = 0; r < s->rank; r++)
        size += exp(score[j] - largest) / sum * fabs((double)w_v[e * s->rank + r] * (double)latents[j * width + r]);
    sizes[e] = size;
    bounds[e] = (2 * n * most + 2 * 16 * (2 + most) + 2 * depth(s->rank)) * 0x1p-24 * size;
  }
}

/* The forms differ by no more than clause L20 says, and by the roundings of o_proj. */
/* Padding in front of a prompt: kv_begins has the bits of a mask that hides it, in both forms, whatever it holds.
 */
static void test_padding(void **state) {
  (void)state;
  enum { PADDING = 5 };
  static const int64_t begins[2] = {0, PADDING};
  unsigned char mask[2][ROWS];
  for (int b = 0; b < 2; b++)
    for (int64_t i = 0; i < ROWS; i++) mask[b][i] = i >= begins[b];
  for (int i = 0; i < 2 * SHAPES; i++) {
    struct model m;
    make(&m, &shapes[i / 2], 70 + (uint64_t)i);
    choose(&m, (fovea_nn_latent_form)(i % 2));
    const int64_t in = m.shape.in;
    float *y[2];
    for (int way = 0; way < 2; way++) {
      fovea_problem p = problem_of(&m, 2, ROWS, ROWS);
      fovea_nn_latent_tensors t;
      fovea_error error = {0};
      y[way] = malloc((size_t)(2 * ROWS * in) * sizeof **y);
      assert_non_null(y[way]);
      fovea_nn_latent_tensors_init(&t, m.x, y[way]);
      if (way == 0) {
        p.kv_begins = begins;
        for (int64_t d = 0; d < PADDING * in; d++) m.x[ROWS * in + d] = NAN;
      } else {
        p.mask.type = FOVEA_MASK_BOOL;
        p.mask.strides = (fovea_mask_strides){ROWS, 0, 0, 1};
        t.mask = mask;
        for (int64_t d = 0; d < PADDING * in; d++) m.x[ROWS * in + d] = 0;
      }
      if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    }
    assert_memory_equal(y[0], y[1], (size_t)(ROWS * in) * sizeof **y);
    assert_memory_equal(y[0] + (ROWS + PADDING) * in, y[1] + (ROWS + PADDING) * in,
                        (size_t)((ROWS - PADDING) * in) * sizeof **y);
    free(y[0]);
    free(y[1]);
    destroy(&m);
  }
}

static void test_forms(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    struct model m;
    make(&m, &shapes[i], 90 + (uint64_t)i);
    const struct shape *s = &m.shape;
    const int64_t width = s->rank + s->rope, dim = s->nope + s->rope, outs = s->heads * s->v;
    const double scale = problem_of(&m, 1, 1, 1).scale;
    float *y[2], *latents = numbers(&(struct generator){1}, ROWS * width, 1),
                 *q = numbers(&(struct generator){1}, s->heads * dim, 1);
    double *bounds = malloc((size_t)(2 * outs) * sizeof *bounds);
    assert_non_null(bounds);
    for (int form = 0; form < 2; form++) {
      choose(&m, (fovea_nn_latent_form)form);
      y[form] = run_prompt(&m, 1, ROWS, NULL, NULL);
    }
    for (int64_t p = 0; p < ROWS; p++) contract_latent(&m, m.x + p * s->in, p, FOVEA_F32, latents + p * width);
    for (int64_t p = 0; p < ROWS; p += USUAL_OR_LONG(13, 3)) {
      contract_queries(&m, m.x + p * s->in, p, q);
      for (int64_t h = 0; h < s->heads; h++)
        bound_head(&m, h, q + h * dim, latents, p, scale, bounds + h * s->v, bounds + outs + h * s->v);
      for (int64_t o = 0; o < s->in; o++) {
        const float a = y[0][p * s->in + o], b = y[1][p * s->in + o];
        double bound = 0, size = fabs((double)m.o_bias[o]);
        for (int64_t e = 0; e < outs; e++) {
          const double weight = fabs((double)m.o[o * outs + e]);
          bound += weight * bounds[e];
          size += weight * (bounds[outs + e] + bounds[e]);
        }
        bound += 2 * (depth(outs) + 1) * 0x1p-24 * size;
        if (!(fabs((double)a - (double)b) <= bound))
          fail_msg("row %d output %d: %g and %g", (int)p, (int)o, (double)a, (double)b);
      }
    }
    free(y[0]);
    free(y[1]);
    free(latents);
    free(q);
    free(bounds);
    destroy(&m);
  }
}

#define REFUSES(change, status, text_part)                                                                         \
  do {                                                                                                             \
    fovea_nn_latent latent = m.latent;                                                                             \
    fovea_nn_linear q_b = m.q_b_proj, kv_b = m.kv_b_proj;                                                          \
    fovea_problem p = problem_of(&m, 1, 4, 4);                                                                     \
    fovea_nn_latent_tensors t;                                                                                     \
    fovea_error error = {0};                                                                                       \
    latent.q_b_proj = &q_b;                                                                                        \
    latent.kv_b_proj = &kv_b;                                                                                      \
    fovea_nn_latent_tensors_init(&t, m.x, y);                                                                      \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_latent_run(&latent, &p, &t, NULL, &error), status);                                  \
    assert_error_says(&error, text_part);                                                                          \
    for (int j = 0; j < 4 * 24; j++) assert_true(y[j] == 7);                                                       \
  } while (0)

static void test_refusals(void **state) {
  struct model m;
  struct cache c;
  float y[4 * 24];
  const int64_t begins[1] = {0};
  (void)state;
  make(&m, &shapes[0], 5);
  make_cache(&c, &m.shape, FOVEA_F32, 1);
  for (int j = 0; j < 4 * 24; j++) y[j] = 7;
  REFUSES(latent.struct_size = 8, FOVEA_ERROR_ARGUMENT, "latent");
  REFUSES(latent.q_b_proj = NULL, FOVEA_ERROR_ARGUMENT, "q_b_proj is NULL");
  REFUSES(latent.kv_b_proj = NULL, FOVEA_ERROR_ARGUMENT, "kv_b_proj is NULL");
  REFUSES(q_b.out++, FOVEA_ERROR_ARGUMENT, "q_b_proj.out is 61; it must be 60");
  REFUSES(kv_b.bias = y, FOVEA_ERROR_UNUSED, "kv_b_proj.bias");
  REFUSES(latent.qk_rope_head_dim = 7, FOVEA_ERROR_ARGUMENT, "qk_rope_head_dim is 7");
  REFUSES(latent.form = FOVEA_NN_LATENT_ABSORBED, FOVEA_ERROR_ARGUMENT, "absorbed is NULL");
  REFUSES(latent.absorbed = y, FOVEA_ERROR_UNUSED, "absorbed is set");
  REFUSES(latent.q_a_proj = NULL, FOVEA_ERROR_UNUSED, "q_a_layernorm");
  REFUSES(p.heads = 6, FOVEA_ERROR_ARGUMENT, "problem.heads is 6");
  REFUSES(p = problem_of(&m, 1, 4, 5), FOVEA_ERROR_ARGUMENT, "problem.kv_len is 5");
  REFUSES(p.top.k = 2, FOVEA_ERROR_UNUSED, "top.k");
  REFUSES(p.q_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "problem.q_type is set and would not be used");
  REFUSES(p.cache.segmented = 1, FOVEA_ERROR_ARGUMENT, "sequences is NULL");
  REFUSES((p.cache.segmented = p.cache.holes = 1, t.cache.sequences = c.sequences), FOVEA_ERROR_UNUSED,
          "cache.holes is set");
  REFUSES((p.cache.segmented = 1, p.kv_begins = begins, t.cache.sequences = c.sequences), FOVEA_ERROR_UNUSED,
          "kv_begins");
  REFUSES(t.cache.sequences = c.sequences, FOVEA_ERROR_UNUSED, "sequences is set");
  REFUSES(p.scales = FOVEA_SCALES_PER_HEAD, FOVEA_ERROR_UNUSED, "problem.scales is set and would not be used");
  REFUSES(t.cache.layer = 1, FOVEA_ERROR_UNUSED, "layer is set");
  REFUSES(t.x = NULL, FOVEA_ERROR_ARGUMENT, "x is NULL");
  REFUSES(t.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences, t.cache.layer = 2), FOVEA_ERROR_ARGUMENT,
          "layer");
  c.sequences[0].segment_size -= 8;
  REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences), FOVEA_ERROR_ARGUMENT,
          "sequences[0].segment_size is ");
  c.sequences[0].segment_size += 8;
  /* What only attention refuses has not changed the caches. */
  const size_t size = cache_size(&m.shape, FOVEA_F32);
  unsigned char *before = malloc(size);
  assert_non_null(before);
  memcpy(before, c.memory, size);
  for (int absorbed = 0; absorbed < 2; absorbed++) {
    if (absorbed) m.latent.form = FOVEA_NN_LATENT_ABSORBED, m.latent.absorbed = m.absorbed;
    REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences, p.mask.type = FOVEA_MASK_BOOL),
            FOVEA_ERROR_ARGUMENT, "mask");
    REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences, p.sink = FOVEA_SINK_PER_HEAD),
            FOVEA_ERROR_ARGUMENT, "sink");
    assert_memory_equal(c.memory, before, size);
  }
  free(before);
  m.latent.form = FOVEA_NN_LATENT_EXPANDED, m.latent.absorbed = NULL;
  c.segments[0].kv_heads = 2;
  REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences), FOVEA_ERROR_ARGUMENT,
          "cache.sequences[0].segments[0].kv_heads is 2; a latent cache has 1");
  c.segments[0].kv_heads = 0; /* not known */
  c.segments[0].qk_dim++;
  REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences), FOVEA_ERROR_ARGUMENT,
          "cache.sequences[0].segments[0].qk_dim is ");
  c.segments[0].qk_dim--;
  c.segments[0].v = y;
  REFUSES((p.cache.segmented = 1, t.cache.sequences = c.sequences), FOVEA_ERROR_UNUSED,
          "cache.sequences[0].segments[0].v is set and would not be used");
  assert_int_equal(fovea_nn_latent_absorb(&m.latent, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_latent_absorb(NULL, y, NULL), FOVEA_ERROR_ARGUMENT);
  free(c.memory);
  destroy(&m);
}

/* What fovea_nn_latent_absorb() writes: each head's panels for keys and for values. */
static void test_absorbed_elements(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    const struct shape *s = &shapes[i];
    struct model m;
    int64_t elements = 7;
    make(&m, s, 6);
    assert_int_equal(fovea_nn_latent_absorbed_elements(&m.latent, &elements, NULL), FOVEA_OK);
    const int64_t together = s->weight_type == FOVEA_BF16 ? 2 : 1; /* dims of bf16 lie in pairs */
    const int64_t keys = (s->nope + together - 1) / together * together * ((s->rank + 15) / 16 * 16);
    const int64_t values = (s->rank + together - 1) / together * together * ((s->v + 15) / 16 * 16);
    assert_int_equal(elements, s->heads * (keys + values));
    destroy(&m);
  }
}

/* Each refusal says why, and the size is 0. */
static void test_refused_elements(void **state) {
  struct model m;
  fovea_error error;
  (void)state;
  make(&m, &shapes[0], 7);
#define REFUSES_ELEMENTS(change, expected, text_part)                                                              \
  do {                                                                                                             \
    fovea_nn_latent latent = m.latent;                                                                             \
    fovea_nn_linear kv_b = m.kv_b_proj;                                                                            \
    int64_t elements = 7;                                                                                          \
    latent.kv_b_proj = &kv_b;                                                                                      \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_latent_absorbed_elements(&latent, &elements, &error), expected);                     \
    assert_error_says(&error, text_part);                                                                          \
    assert_int_equal(elements, 0);                                                                                 \
    assert_int_equal(fovea_nn_latent_absorb(&latent, m.absorbed, &error), expected);                               \
    assert_error_says(&error, text_part);                                                                          \
  } while (0)
  REFUSES_ELEMENTS(latent.struct_size = 8, FOVEA_ERROR_ARGUMENT, "latent.struct_size is 8");
  REFUSES_ELEMENTS(latent.heads = 0, FOVEA_ERROR_ARGUMENT, "latent.heads is 0");
  REFUSES_ELEMENTS(latent.kv_b_proj = NULL, FOVEA_ERROR_ARGUMENT, "kv_b_proj is NULL");
  REFUSES_ELEMENTS(kv_b.out++, FOVEA_ERROR_ARGUMENT, "kv_b_proj.out is ");
  REFUSES_ELEMENTS(kv_b.activation = FOVEA_NN_ACTIVATION_RELU, FOVEA_ERROR_UNUSED, "kv_b_proj.activation is set");
  /* One dim of values takes a panel of 16 outputs. */
  const int64_t heads = INT64_C(1) << 30, rank = INT64_C(1) << 25;
  REFUSES_ELEMENTS((latent.heads = heads, latent.kv_lora_rank = kv_b.in = kv_b.weight_stride = rank,
                    latent.qk_nope_head_dim = latent.v_head_dim = 1, kv_b.out = 2 * heads),
                   FOVEA_ERROR_ARGUMENT,
                   "kv_lora_rank 33554432 times the dims of 1073741824 heads is more than 2^57");
  assert_int_equal(fovea_nn_latent_absorbed_elements(&m.latent, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "elements is NULL");
  destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_padding),          cmocka_unit_test(test_forms),
      cmocka_unit_test(test_refusals),         cmocka_unit_test(test_absorbed_elements),
      cmocka_unit_test(test_refused_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
