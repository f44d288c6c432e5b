/* Vectors of Longformer, BigBird and Reformer. */
#include "inputs.h"
#include "nn/contract_rows.h"
#include "variants/contract_longformer.h"
#include "variants/contract_reformer.h"
#include "vectors.h"

#include <math.h>

void write_longformer(void) {
  enum { LENGTH = 9, WIDTH = 3, HEADS = 2, QK = 2, V = 1, OUT = 2 };
  static const int8_t states[LENGTH] = {0, 0, 1, 0, 0, 0, 1, 0, -1};
  static const struct {
    const char *name;
    int64_t out, in;
  } layers[LONGFORMER_LAYERS] = {
      {"query", HEADS * QK, WIDTH},        {"key", HEADS * QK, WIDTH},        {"value", HEADS * V, WIDTH},
      {"global_query", HEADS * QK, WIDTH}, {"global_key", HEADS * QK, WIDTH}, {"global_value", HEADS * V, WIDTH},
      {"output", OUT, HEADS * V},
  };
  float y[LENGTH * OUT];
  inputs_begin(73);
  vector_begin("longformer", "longformer", "L16 L1 2 3");
  vector_integer("heads", HEADS);
  vector_integer("window", 1);
  vector_integer("offset", 0);
  vector_double("scale", 0.7);
  vector_array(INPUT, "states", ARRAY_I8, states, LENGTH, 0);
  struct contract_longformer l = {.batch = 1,
                                  .heads = HEADS,
                                  .length = LENGTH,
                                  .qk_dim = QK,
                                  .v_dim = V,
                                  .in = WIDTH,
                                  .out = OUT,
                                  .window = 1,
                                  .states = states,
                                  .x = input("", "x", LENGTH, WIDTH),
                                  .scale = 0.7};
  for (int i = 0; i < LONGFORMER_LAYERS; i++) l.weights[i] = input("", layers[i].name, layers[i].out, layers[i].in);
  l.biases[LONGFORMER_LAYERS - 1] = input("", "output_bias", OUT, 0);
  contract_longformer(&l, y);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, LENGTH, OUT);
  vector_end();
}

enum { BLOCKS = 9, CHOSEN = 3 };

/* The list of a row, ascending: each draw has one more number to choose from, and takes it if its choice is taken. */
static void draw_list(uint64_t seed, int64_t row, int64_t *list) {
  int is_drawn[BLOCKS - 5] = {0};
  for (int64_t draw = 0; draw < CHOSEN; draw++) {
    const int64_t last = BLOCKS - 5 - CHOSEN + draw;
    const uint64_t low = contract_random(seed, (uint64_t)row, (uint64_t)(4 * draw)),
                   high = contract_random(seed, (uint64_t)row, (uint64_t)(4 * draw + 1));
    const uint64_t below = (uint64_t)last + 1, number = (high * below + (low * below >> 32)) >> 32;
    is_drawn[is_drawn[number] ? last : (int64_t)number] = 1;
  }
  for (int64_t number = 0; number < BLOCKS - 5; number++)
    if (is_drawn[number]) *list++ = number;
}

void write_bigbird(void) {
  const uint64_t seed = 0x123456789abcdef0;
  int64_t lists[BLOCKS - 2][CHOSEN];
  unsigned char mask[BLOCKS][BLOCKS];
  for (int64_t i = 0; i < BLOCKS - 2; i++) draw_list(seed, i, lists[i]);
  for (int64_t i = 0; i < BLOCKS; i++)
    for (int64_t j = 0, number = 0; j < BLOCKS; j++) {
      mask[i][j] = (unsigned char)contract_bigbird_sees(BLOCKS, i, j);
      if (!contract_bigbird_may_draw(BLOCKS, i, j)) continue;
      for (int k = 0; k < CHOSEN; k++)
        if (lists[i - 1][k] == number) mask[i][j] = 1;
      number++;
    }
  vector_begin("bigbird", "bigbird", "L16 L8");
  vector_integer("blocks", BLOCKS);
  vector_integer("chosen", CHOSEN);
  vector_integer("seed", (int64_t)seed);
  vector_array(EXPECTED, "lists", ARRAY_I64, lists, BLOCKS - 2, CHOSEN);
  vector_array(EXPECTED, "mask", ARRAY_U8, mask, BLOCKS, BLOCKS);
  vector_end();
}

static void write_rounds(const char *name, struct contract_reformer head) {
  enum { MOST = 64 };
  int64_t buckets[MOST];
  float y[MOST];
  const int64_t width = head.rounds * head.columns;
  inputs_begin(79);
  float *x = drawn(head.length * head.dim), *v = drawn(head.length * head.v_dim),
        *rotations = drawn(head.dim * width);
  for (int64_t d = 0; d < head.dim; d++) x[head.dim + d] = 0; /* ties of its numbers, and a norm of eps alone */
  if (head.length < head.bucket_size) rotations[1] = NAN;     /* the buckets of its round */
  head.x = x;
  head.v = v;
  head.rotations = rotations;
  head.rotation_row = width;
  contract_reformer(&head, buckets, y);
  vector_begin(name, "reformer", "L17 L1 L3 3");
  vector_integer("rounds", head.rounds);
  vector_integer("bucket_size", head.bucket_size);
  vector_integer("once", head.once);
  vector_integer("within_round", head.within_round);
  if (head.factors[0]) vector_integer("factor", head.factors[0]);
  if (head.causal) vector_integer("causal", 1);
  vector_double("scale", head.scale);
  vector_double("eps", 1e-5);
  vector_numbers(INPUT, "x", FOVEA_F32, x, head.length, head.dim);
  vector_numbers(INPUT, "v", FOVEA_F32, v, head.length, head.v_dim);
  vector_numbers(INPUT, "rotations", FOVEA_F32, rotations, head.dim, width);
  vector_array(EXPECTED, "buckets", ARRAY_I64, buckets, head.rounds, head.length);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, head.length, head.v_dim);
  vector_end();
}

/* Chunks of all rounds in a ring, the last one not full; rings of each round and factors; one chunk. */
void write_reformers(void) {
  struct contract_reformer head = {.length = 11,
                                   .dim = 3,
                                   .v_dim = 2,
                                   .rounds = 3,
                                   .bucket_size = 2,
                                   .buckets = 6,
                                   .columns = 3,
                                   .once = 1,
                                   .scale = 0.9,
                                   .eps = (float)1e-5};
  write_rounds("reformer", head);
  head.causal = 1;
  head.within_round = 1;
  head.factors[0] = 4;
  head.factors[1] = 2;
  head.buckets = 8;
  head.length = 7;
  head.rounds = 2;
  head.once = 0;
  write_rounds("reformer_within_rounds", head);
  head.bucket_size = 4;
  head.length = 3;
  write_rounds("reformer_one_chunk", head);
}
