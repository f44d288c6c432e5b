#include "small.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_ROOM = 1 << 14, NAME_ROOM = 96 };

void write_bytes(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A file in the making. */
struct maker {
  fovea_type type;
  const char *without;
  char header[HEADER_ROOM];
  size_t length;
  unsigned char *data;
  size_t size, room;
  uint32_t state;
};

/* From -1 to 1 in steps of 1/64, which every type has. */
static float next_number(struct maker *maker) {
  maker->state = maker->state * 1664525 + 1013904223;
  return ((float)(maker->state >> 25) - 64) / 64;
}

/* The bits of such a number in f16. */
static uint16_t half_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  const uint32_t exponent = bits >> 23 & 255;
  if (exponent == 0) return 0;
  return (uint16_t)(bits >> 16 & 0x8000u) | (uint16_t)((exponent - 127 + 15) << 10) |
         (uint16_t)(bits >> 13 & 0x3ffu);
}

static void put_number(struct maker *maker, float number) {
  unsigned char *to = maker->data + maker->size;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (maker->type == FOVEA_F16) bits = half_of(number);
  if (maker->type == FOVEA_BF16) bits >>= 16;
  const int bytes = maker->type == FOVEA_F32 ? 4 : 2;
  for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(bits >> (8 * i));
  maker->size += (size_t)bytes;
}

static void put_tensor(struct maker *maker, const char *name, int64_t rows, int64_t columns, float scale) {
  static const char *const types[] = {[FOVEA_F32] = "F32", [FOVEA_F16] = "F16", [FOVEA_BF16] = "BF16"};
  const int64_t count = rows * (columns > 0 ? columns : 1);
  const size_t begin = maker->size;
  char shape[64];
  if (maker->without && strcmp(name, maker->without) == 0) return;
  if (maker->size + (size_t)count * 4 > maker->room) {
    maker->room = 2 * maker->room + (size_t)count * 4;
    maker->data = realloc(maker->data, maker->room);
    assert_non_null(maker->data);
  }
  for (int64_t i = 0; i < count; i++) put_number(maker, next_number(maker) * scale + (columns == 0 ? 0.5f : 0));
  if (columns > 0)
    snprintf(shape, sizeof shape, "%lld,%lld", (long long)rows, (long long)columns);
  else
    snprintf(shape, sizeof shape, "%lld", (long long)rows);
  maker->length += (size_t)snprintf(maker->header + maker->length, HEADER_ROOM - maker->length,
                                    "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                                    maker->length > 1 ? "," : "", name, types[maker->type], shape,
                                    (unsigned long long)begin, (unsigned long long)maker->size);
  assert_true(maker->length < HEADER_ROOM - 2);
}

static void put_layer(struct maker *maker, int layer) {
  static const struct {
    const char *name;
    int64_t rows, columns;
  } tensors[] = {{"attention.self.query", SMALL_DIM, SMALL_DIM}, {"attention.self.key", SMALL_DIM, SMALL_DIM},
                 {"attention.self.value", SMALL_DIM, SMALL_DIM}, {"attention.output.dense", SMALL_DIM, SMALL_DIM},
                 {"attention.output.LayerNorm", SMALL_DIM, 0},   {"intermediate.dense", SMALL_HIDDEN, SMALL_DIM},
                 {"output.dense", SMALL_DIM, SMALL_HIDDEN},      {"output.LayerNorm", SMALL_DIM, 0}};
  for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "encoder.layer.%d.%s.weight", layer, tensors[i].name);
    put_tensor(maker, name, tensors[i].rows, tensors[i].columns, 0.25f);
    snprintf(name, sizeof name, "encoder.layer.%d.%s.bias", layer, tensors[i].name);
    put_tensor(maker, name, tensors[i].rows, 0, 0.5f);
  }
}

void write_small_model(const char *path, fovea_type type, int64_t vocabulary, const char *without) {
  struct maker *maker = calloc(1, sizeof *maker);
  assert_non_null(maker);
  maker->type = type;
  maker->without = without;
  maker->header[maker->length++] = '{';
  put_tensor(maker, "embeddings.word_embeddings.weight", vocabulary, SMALL_DIM, 1);
  put_tensor(maker, "embeddings.position_embeddings.weight", SMALL_POSITIONS, SMALL_DIM, 0.5f);
  put_tensor(maker, "embeddings.token_type_embeddings.weight", 2, SMALL_DIM, 0.25f);
  put_tensor(maker, "embeddings.LayerNorm.weight", SMALL_DIM, 0, 0.5f);
  put_tensor(maker, "embeddings.LayerNorm.bias", SMALL_DIM, 0, 0.5f);
  for (int layer = 0; layer < SMALL_LAYERS; layer++) put_layer(maker, layer);
  maker->header[maker->length++] = '}';
  unsigned char *bytes = malloc(8 + maker->length + maker->size);
  assert_non_null(bytes);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(maker->length >> (8 * i));
  memcpy(bytes + 8, maker->header, maker->length);
  memcpy(bytes + 8 + maker->length, maker->data, maker->size);
  write_bytes(path, bytes, 8 + maker->length + maker->size);
  free(bytes);
  free(maker->data);
  free(maker);
}
