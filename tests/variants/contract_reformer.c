#include "contract_reformer.h"

#include "contract.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Buckets ------------------------------------------------------------------------------------------------- */

/* The first largest number of (r, -r); the first NaN. */
static int32_t largest(const float *r, int64_t count) {
  int32_t best = 0;
  for (int64_t i = 0; i < count; i++)
    if (r[i] != r[i]) return (int32_t)i;
  for (int64_t i = 0; i < 2 * count; i++) {
    const float best_number = best < count ? r[best] : -r[best - count];
    if ((i < count ? r[i] : -r[i - count]) > best_number) best = (int32_t)i;
  }
  return best;
}

/* R of a round, column by column. */
static float *columns_of(const struct contract_reformer *h, int64_t round) {
  float *columns = malloc((size_t)(h->columns * h->dim) * sizeof *columns);
  if (!columns) abort();
  for (int64_t c = 0; c < h->columns; c++)
    for (int64_t d = 0; d < h->dim; d++)
      columns[c * h->dim + d] = h->rotations[d * h->rotation_row + round * h->columns + c];
  return columns;
}

static void hash(const struct contract_reformer *h, int64_t round, int64_t *buckets) {
  float *columns = columns_of(h, round), *products = malloc((size_t)h->columns * sizeof *products);
  const int64_t first = h->factors[0] ? h->factors[0] / 2 : h->columns;
  if (!products) abort();
  for (int64_t i = 0; i < h->length; i++) {
    for (int64_t c = 0; c < h->columns; c++)
      products[c] = contract_nn_dot(h->x + i * h->dim, columns + c * h->dim, h->dim);
    buckets[i] = largest(products, first);
    if (h->factors[0]) buckets[i] += h->factors[0] * largest(products + first, h->factors[1] / 2);
  }
  free(columns);
  free(products);
}

/* ---- Who meets whom ------------------------------------------------------------------------------------------ */

/* The row in each slot of each round; slots after the rows are -1. */
static int64_t *orders_of(const struct contract_reformer *h, const int64_t *buckets, int64_t chunks) {
  const int64_t slots = chunks * h->bucket_size;
  int64_t *orders = malloc((size_t)(h->rounds * slots + 1) * sizeof *orders);
  if (!orders) abort();
  for (int64_t r = 0; r < h->rounds; r++) {
    int64_t next = 0;
    for (int64_t b = 0; b < h->buckets; b++)
      for (int64_t i = 0; i < h->length; i++)
        if (buckets[r * h->length + i] == b) orders[r * slots + next++] = i;
    while (next < slots) orders[r * slots + next++] = -1;
  }
  return orders;
}

/* What a row sees in a round: a key for each place of the chunk before, then of its own; -1 where it sees none. */
static void look(const struct contract_reformer *h, const int64_t *orders, int64_t chunks, int64_t round,
                 int64_t row, int64_t *keys) {
  const int64_t m = h->bucket_size, slots = chunks * m;
  int64_t slot = 0;
  while (orders[round * slots + slot] != row) slot++;
  /* All chunks of all rounds are one ring, or the chunks of each round are. */
  const int64_t own = round * chunks + slot / m, first = h->within_round ? round * chunks : 0;
  const int64_t all = h->within_round ? chunks : h->rounds * chunks;
  const int64_t before = first + (own - first + all - 1) % all;
  for (int64_t j = 0; j < 2 * m; j++) {
    int64_t key = orders[(j < m ? before : own) * m + j % m];
    if (j < m && before == own) key = -1;
    if (key == row || (h->causal && key > row)) key = -1;
    keys[j] = key;
  }
}

/* The views of a row in all rounds, (rounds, 2 * bucket_size). */
static void look_all(const struct contract_reformer *h, const int64_t *orders, int64_t chunks, int64_t row,
                     int64_t *keys) {
  const int64_t places = 2 * h->bucket_size * h->rounds;
  for (int64_t r = 0; r < h->rounds; r++) look(h, orders, chunks, r, row, keys + r * 2 * h->bucket_size);
  for (int64_t i = 0; i < places && h->once; i++)
    for (int64_t j = 0; j < i; j++)
      if (keys[j] == keys[i] && keys[i] >= 0) keys[i] = -1;
}

void contract_reformer_sees(const struct contract_reformer *h, const int64_t *buckets, unsigned char *counts) {
  const int64_t chunks = (h->length + h->bucket_size - 1) / h->bucket_size, places = 2 * h->bucket_size;
  int64_t *orders = orders_of(h, buckets, chunks), *keys = malloc((size_t)(h->rounds * places) * sizeof *keys);
  if (!keys) abort();
  memset(counts, 0, (size_t)(h->length * h->rounds * h->length));
  for (int64_t i = 0; i < h->length; i++) {
    look_all(h, orders, chunks, i, keys);
    for (int64_t j = 0; j < h->rounds * places; j++)
      if (keys[j] >= 0) counts[(i * h->rounds + j / places) * h->length + keys[j]]++;
  }
  free(orders);
  free(keys);
}

/* ---- Attention ---------------------------------------------------------------------------------------------- */

static int sees(const void *rules, int64_t slot) {
  return ((const int64_t *)rules)[slot] >= 0;
}

struct state {
  float m, l;
  float *o;
};

/* The state of a row over the places of a round. */
static void state_of(const struct contract_reformer *h, int64_t row, const float *unit, const int64_t *view,
                     struct state *state) {
  const int64_t places = 2 * h->bucket_size;
  float *k = calloc((size_t)(places * h->dim), sizeof *k), *v = calloc((size_t)(places * h->v_dim), sizeof *v);
  if (!k || !v) abort();
  for (int64_t j = 0; j < places; j++) {
    if (view[j] < 0) continue;
    memcpy(k + j * h->dim, unit + view[j] * h->dim, (size_t)h->dim * sizeof *k);
    memcpy(v + j * h->v_dim, h->v + view[j] * h->v_dim, (size_t)h->v_dim * sizeof *v);
  }
  const struct contract_row r = {.q = h->x + row * h->dim,
                                 .k = k,
                                 .v = v,
                                 .k_stride = h->dim,
                                 .v_stride = h->v_dim,
                                 .qk_dim = h->dim,
                                 .v_dim = h->v_dim,
                                 .positions = places,
                                 .scale = h->scale / sqrt((double)h->dim),
                                 .sees = sees,
                                 .rules = view};
  contract_node(&r, 0, 2048, state->o, &state->m, &state->l);
  free(k);
  free(v);
}

static int has_state(const struct state *s) {
  return s->l != 0; /* NaN is not 0 */
}

/* Section 3, step 4: b on the right. */
static void merge(struct state *a, const struct state *b, int64_t dim) {
  if (!has_state(b)) return;
  if (!has_state(a)) {
    a->m = b->m;
    a->l = b->l;
    memcpy(a->o, b->o, (size_t)dim * sizeof *a->o);
    return;
  }
  const float m = a->m > b->m ? a->m : b->m, reference = m == -INFINITY ? 0 : m;
  const float left = contract_exp2(a->m - reference), right = contract_exp2(b->m - reference);
  a->m = m;
  a->l = fmaf(b->l, right, a->l * left);
  for (int64_t d = 0; d < dim; d++) a->o[d] = fmaf(b->o[d], right, a->o[d] * left);
}

void contract_reformer(const struct contract_reformer *h, int64_t *buckets, float *y) {
  const int64_t chunks = (h->length + h->bucket_size - 1) / h->bucket_size, places = 2 * h->bucket_size;
  float *unit = malloc((size_t)(h->length * h->dim + 1) * sizeof *unit),
        *o = malloc((size_t)(2 * h->v_dim) * sizeof *o);
  int64_t *keys = malloc((size_t)(h->rounds * places) * sizeof *keys);
  if (!unit || !o || !keys) abort();
  for (int64_t r = 0; r < h->rounds; r++) hash(h, r, buckets + r * h->length);
  for (int64_t i = 0; i < h->length; i++)
    contract_norm(FOVEA_NN_RMS_NORM, h->x + i * h->dim, h->dim, h->eps, NULL, NULL, unit + i * h->dim);
  int64_t *orders = orders_of(h, buckets, chunks);
  for (int64_t i = 0; i < h->length; i++) {
    struct state all = {0, 0, o}, next = {0, 0, o + h->v_dim};
    look_all(h, orders, chunks, i, keys);
    for (int64_t r = 0; r < h->rounds; r++) {
      state_of(h, i, unit, keys + r * places, &next);
      merge(&all, &next, h->v_dim);
    }
    const float inverse = 1 / all.l;
    for (int64_t d = 0; d < h->v_dim; d++) {
      const float result = has_state(&all) ? all.o[d] * inverse : h->v[i * h->v_dim + d];
      y[i * h->v_dim + d] = contract_nn_result(result);
    }
  }
  free(unit);
  free(o);
  free(keys);
  free(orders);
}
