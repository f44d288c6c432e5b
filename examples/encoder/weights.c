#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, FIRST_FILE = 3, PADDING = 2 };

static const struct {
  const char *name;
  int64_t count;
} layer_parts[PART_COUNT] = {{"self_attn_W_q_weight", ENCODER_DIM *ENCODER_DIM},
                             {"self_attn_W_k_weight", ENCODER_DIM *ENCODER_DIM},
                             {"self_attn_W_v_weight", ENCODER_DIM *ENCODER_DIM},
                             {"self_attn_W_o_weight", ENCODER_DIM *ENCODER_DIM},
                             {"feed_forward_linear1_weight", ENCODER_HIDDEN *ENCODER_DIM},
                             {"feed_forward_linear1_bias", ENCODER_HIDDEN},
                             {"feed_forward_linear2_weight", ENCODER_HIDDEN *ENCODER_DIM},
                             {"feed_forward_linear2_bias", ENCODER_DIM},
                             {"norm1_weight", ENCODER_DIM},
                             {"norm1_bias", ENCODER_DIM},
                             {"norm2_weight", ENCODER_DIM},
                             {"norm2_bias", ENCODER_DIM}};

/* Writes the name of a part, and returns its numbers. */
static int64_t describe(int part, char *name, size_t size) {
  const int layer = (part - 1) / PART_COUNT, of_layer = (part - 1) % PART_COUNT;
  if (part == 0 || layer == ENCODER_LAYERS) {
    snprintf(name, size, "%s", part == 0 ? "embedding_weight" : of_layer == 0 ? "norm_weight" : "norm_bias");
    return part == 0 ? ENCODER_VOCABULARY * ENCODER_DIM : ENCODER_DIM;
  }
  snprintf(name, size, "layers_%d_%s", layer, layer_parts[of_layer].name);
  return layer_parts[of_layer].count;
}

static bool create(struct weights *weights, struct failure *failure) {
  char name[64];
  *weights = (struct weights){.count = 0};
  for (int i = 0; i < ENCODER_PARTS; i++) {
    weights->begins[i] = weights->count;
    weights->count += describe(i, name, sizeof name);
  }
  weights->numbers = malloc((size_t)weights->count * sizeof *weights->numbers);
  return weights->numbers || refuse(failure, "no memory for %lld weights", (long long)weights->count);
}

void weights_free(struct weights *weights) {
  free(weights->numbers);
  weights->numbers = NULL;
}

const float *weights_of_layer(const struct weights *weights, int layer, enum layer_part part) {
  return weights->numbers + weights->begins[1 + layer * PART_COUNT + (int)part];
}

bool weights_read_file(const char *directory, const char *name, void *to, int64_t count, size_t size,
                       struct failure *failure) {
  char path[PATH_SIZE];
  if (snprintf(path, sizeof path, "%s/%s.bin", directory, name) >= PATH_SIZE)
    return refuse(failure, "the path of %s is too long", name);
  FILE *file = fopen(path, "rb");
  if (!file) return refuse(failure, "%s: it cannot be opened", path);
  const bool whole = fread(to, size, (size_t)count, file) == (size_t)count && fgetc(file) == EOF;
  fclose(file);
  return whole || refuse(failure, "%s: it must have %lld numbers", path, (long long)count);
}

static bool read_parts(struct weights *weights, const char *directory, struct failure *failure) {
  float mask[ENCODER_ROWS] = {0};
  if (!weights_read_file(directory, "in0_ids", weights->ids, ENCODER_ROWS, sizeof *weights->ids, failure) ||
      !weights_read_file(directory, "in1_mask", mask, ENCODER_ROWS, sizeof *mask, failure))
    return false;
  for (int i = 0; i < ENCODER_ROWS; i++) weights->seen[i] = mask[i] != 0;
  for (int i = 0; i < ENCODER_PARTS; i++) {
    char part[64], name[80];
    const int64_t count = describe(i, part, sizeof part);
    snprintf(name, sizeof name, "in%d_%s", i + FIRST_FILE, part);
    if (!weights_read_file(directory, name, weights->numbers + weights->begins[i], count, sizeof(float), failure))
      return false;
  }
  return true;
}

bool weights_read(struct weights *weights, const char *directory, struct failure *failure) {
  if (!create(weights, failure)) return false;
  if (read_parts(weights, directory, failure)) return true;
  weights_free(weights);
  return false;
}

/* splitmix64 */
static uint64_t next_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool weights_generate(struct weights *weights, struct failure *failure) {
  uint64_t state = 4;
  if (!create(weights, failure)) return false;
  for (int i = 0; i < ENCODER_PARTS; i++) {
    char name[64];
    const int64_t count = describe(i, name, sizeof name);
    const float offset = strstr(name, "norm") && strstr(name, "_weight") ? 1 : 0;
    float *numbers = weights->numbers + weights->begins[i];
    for (int64_t j = 0; j < count; j++) /* from -1/8 on and below 1/8, with 16 random bits: exact */
      numbers[j] = ((float)(next_bits(&state) >> 48) - 32768.0f) * 0x1p-18f + offset;
  }
  for (int i = 0; i < ENCODER_ROWS; i++) {
    weights->ids[i] = (int64_t)(next_bits(&state) % ENCODER_VOCABULARY);
    weights->seen[i] = i % ENCODER_LENGTH < ENCODER_LENGTH - PADDING;
  }
  return true;
}
