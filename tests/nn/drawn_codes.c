#include "drawn_codes.h"

#include "contract_codes.h"
#include "support/check.h"
#include "support/execution.h"

#include <string.h>

static int has_words(fovea_nn_format format) {
  return format == FOVEA_NN_FORMAT_GPTQ || format == FOVEA_NN_FORMAT_AWQ;
}

static struct guarded random_bytes(int64_t size, struct generator *generator) {
  struct guarded memory = guarded_create((size_t)size, GUARD_AT_END);
  for (int64_t i = 0; i < size; i++) memory.data[i] = (unsigned char)generator_bits(generator);
  return memory;
}

/* An f16 that is finite and positive; if it may be special, any. */
static void draw_half(uint8_t *to, int special, struct generator *generator) {
  const uint64_t bits = generator_bits(generator);
  to[0] = (uint8_t)bits;
  to[1] = special && bits >> 32 & 1 ? (uint8_t)(bits >> 8) : (uint8_t)(0x24 + (bits >> 8) % 16);
}

/* Scales of e4m3 are finite, or any. Only the first output may have NaN among its codes: a row has NaN, or has not. */
static void draw_fp8(struct drawn_codes *coded, int special, struct generator *generator) {
  const fovea_type type = coded->codes.scale_type;
  const size_t bytes = type == FOVEA_F32 ? 4 : 2;
  for (size_t i = special ? (size_t)coded->codes.in : 0; i < coded->data.size; i++)
    if ((coded->data.data[i] & 0x7f) == 0x7f) coded->data.data[i] ^= 1;
  for (size_t i = 0; i < coded->scales.size; i += bytes) {
    uint8_t *top = coded->scales.data + i + bytes - 1;
    if (!special || generator_below(generator, 2))
      *top = (uint8_t)((*top & 0x80) + (type == FOVEA_F16 ? 0x28 : 0x3c) + *top % 4);
  }
}

/* Where the numbers of blocks are. */
static void draw_numbers(struct drawn_codes *coded, int special, struct generator *generator) {
  static const struct {
    int bytes, first, count;
  } halves[] = {{34, 0, 1},  {18, 0, 1},  {20, 0, 2},    {22, 0, 1}, {24, 0, 2},
                {144, 0, 2}, {176, 0, 2}, {210, 208, 1}, {18, 0, 1}};
  const fovea_nn_format format = coded->codes.format;
  for (size_t i = 0; has_words(format) && i < coded->scales.size; i += 2)
    draw_half(coded->scales.data + i, 0, generator);
  if (format == FOVEA_NN_FORMAT_E4M3) draw_fp8(coded, special, generator);
  for (size_t i = 0; format == FOVEA_NN_FORMAT_MXFP4 && !special && i < coded->data.size; i += 17)
    coded->data.data[i] = (uint8_t)(120 + coded->data.data[i] % 16);
  if (format >= FOVEA_NN_FORMAT_MXFP4) return;
  for (size_t i = 0; i < coded->data.size; i += (size_t)halves[format].bytes)
    for (int j = 0; j < halves[format].count; j++)
      draw_half(coded->data.data + i + halves[format].first + 2 * j, special, generator);
}

/* Each dim has a group of its own. */
static void draw_groups(struct drawn_codes *coded, int64_t groups, struct generator *generator) {
  coded->g_idx = random_bytes(coded->codes.in * 4, generator);
  for (int64_t d = 0; d < coded->codes.in; d++) {
    const int32_t group = (int32_t)generator_below(generator, groups);
    memcpy(coded->g_idx.data + 4 * d, &group, sizeof group);
  }
  coded->codes.g_idx = coded->g_idx.data;
}

void drawn_codes_pack(struct drawn_codes *coded, int threads) {
  size_t size = 0;
  fovea_error error;
  if (fovea_nn_codes_size(&coded->codes, &size, &error) != FOVEA_OK) fail_msg("%s", error.text);
  coded->packed = guarded_create(size, GUARD_AT_END);
  if (fovea_nn_pack_codes(&coded->codes, coded->packed.data, with_threads(threads), &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_true(guarded_slack_intact(&coded->packed));
  guarded_make_read_only(&coded->packed);
}

struct drawn_codes drawn_codes_create(fovea_nn_format format, struct coded_size size, int special,
                                      struct generator *generator) {
  const int64_t in = size.in, out = size.out, groups = size.group ? (in + size.group - 1) / size.group : 0;
  struct drawn_codes coded = {.data = random_bytes(contract_codes_bytes(format, in, out), generator)};
  fovea_nn_codes_init(&coded.codes, format, in, out, coded.data.data);
  if (has_words(format)) {
    coded.scales = random_bytes(groups * out * 2, generator);
    coded.zeros = random_bytes(groups * (out / 8) * 4, generator);
    coded.codes.group = size.group;
    coded.codes.scales = coded.scales.data;
    coded.codes.zeros = coded.zeros.data;
    coded.codes.zeros_less_one = format == FOVEA_NN_FORMAT_GPTQ && generator_below(generator, 2);
  }
  if (format == FOVEA_NN_FORMAT_GPTQ && generator_below(generator, 2)) draw_groups(&coded, groups, generator);
  if (format == FOVEA_NN_FORMAT_E4M3) {
    const int64_t rows = (out + size.group_outs - 1) / size.group_outs;
    coded.codes.group = size.group;
    coded.codes.group_outs = size.group_outs;
    coded.codes.scale_type = (fovea_type)generator_below(generator, 3);
    coded.scales = random_bytes(groups * rows * (coded.codes.scale_type == FOVEA_F32 ? 4 : 2), generator);
    coded.codes.scales = coded.scales.data;
  }
  draw_numbers(&coded, special, generator);
  drawn_codes_pack(&coded, 1);
  coded.numbers = malloc((size_t)(in * out) * sizeof *coded.numbers);
  assert_non_null(coded.numbers);
  for (int64_t i = 0; i < in * out; i++) coded.numbers[i] = contract_codes_number(&coded.codes, i / in, i % in);
  return coded;
}

void drawn_codes_destroy(struct drawn_codes *coded) {
  guarded_destroy(&coded->data);
  guarded_destroy(&coded->packed);
  if (coded->codes.scales) guarded_destroy(&coded->scales);
  if (coded->codes.zeros) guarded_destroy(&coded->zeros);
  if (coded->codes.g_idx) guarded_destroy(&coded->g_idx);
  free(coded->numbers);
}

int coded_sizes_of(fovea_nn_format format, struct coded_size sizes[6]) {
  static const struct coded_size blocks[] = {
      {32, 1, 0, 0}, {160, 17, 0, 0}, {416, 100, 0, 0}, {128, 64, 0, 0}, {96, 200, 0, 0}};
  static const struct coded_size large[] = {{256, 1, 0, 0}, {512, 70, 0, 0}, {768, 33, 0, 0}};
  static const struct coded_size words[] = {{8, 8, 8, 0},      {40, 72, 16, 0},   {136, 104, 128, 0},
                                            {200, 64, 200, 0}, {264, 136, 64, 0}, {320, 24, 32, 0}};
  /* One scale; one for each output; blocks of 128 x 128, of few rows, of one row; outputs before and after a block. */
  static const struct coded_size fp8[] = {{1, 1, 1, 1},         {130, 33, 130, 33}, {261, 100, 261, 1},
                                          {300, 200, 128, 128}, {70, 40, 128, 128}, {142, 65, 32, 7}};
  const int is_large = format >= FOVEA_NN_FORMAT_Q4_K && format <= FOVEA_NN_FORMAT_Q6_K;
  if (format == FOVEA_NN_FORMAT_E4M3) return memcpy(sizes, fp8, sizeof fp8), 6;
  if (has_words(format)) return memcpy(sizes, words, sizeof words), 6;
  if (is_large) return memcpy(sizes, large, sizeof large), 3;
  return memcpy(sizes, blocks, sizeof blocks), 5;
}
