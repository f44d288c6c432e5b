#include "nn_scene.h"

#include "expect.h"

#include <stddef.h>

void nn_scene_destroy(struct nn_scene *scene) {
  for (int i = 0; i < scene->region_count; i++) region_destroy(&scene->regions[i]);
}

int64_t nn_below(struct nn_scene *scene, int64_t limit) {
  return bytes_below(scene->bytes, limit);
}

int64_t nn_size(struct nn_scene *scene, int64_t limit) {
  return 1 + nn_below(scene, limit);
}

fovea_type nn_type(struct nn_scene *scene) {
  return (fovea_type)nn_below(scene, 3);
}

void nn_edit(struct nn_scene *scene, void *object, const struct field *fields, size_t count) {
  if (scene->wild) wild_edit(object, fields, count, scene->bytes);
}

int nn_is_type(fovea_type type) {
  return (unsigned)type <= FOVEA_BF16;
}

/* Numbers up to 2 of any type, among them zeros, and subnormals of 16 bits. */
static void fill(const struct region *region) {
  uint32_t seed = (uint32_t)region->size * 2654435761u + 12345;
  for (size_t i = 0; i + 1 < region->size; i += 2) {
    seed = seed * 1664525u + 1013904223u;
    const uint16_t half = (uint16_t)(seed >> 16 & 0xbfff);
    const int is_low = region->bits == 32 && i % 4 == 0;
    memcpy(region->block + i, &half, sizeof half);
    if (is_low) region->block[i] = region->block[i + 1] = 0;
  }
  if (region->bits <= 8) memset(region->block, 0x5b, region->size);
}

/* Where tensors without elements lie: nothing may be read or written there. */
static _Alignas(64) unsigned char before_nothing[64];

void *nn_tensor_of(struct nn_scene *scene, const int64_t extent[3], fovea_strides strides, int64_t dim, int bits) {
  const uint64_t head = (uint64_t)extent[2] * (uint64_t)dim, batch = (uint64_t)extent[1] * head;
  const int64_t stride[3] = {nn_stride(strides.batch, (int64_t)batch), nn_stride(strides.head, (int64_t)head),
                             nn_stride(strides.row, dim)};
  struct region *region = &scene->regions[scene->region_count];
  EXPECT(scene->region_count < NN_TENSORS);
  for (int i = 0; i < 3; i++)
    if (extent[i] < 0) scene->cannot_be = 1;
  if (scene->cannot_be || dim < 0 || !region_create(region, extent, stride, dim, bits)) {
    scene->cannot_be = 1;
    return NULL;
  }
  scene->region_count++;
  if (region->size == 0) return scene->wild ? NULL : before_nothing + sizeof before_nothing;
  fill(region);
  if (scene->wild && bytes_one_in(scene->bytes, 64)) return NULL;
  if (scene->wild && bytes_one_in(scene->bytes, 64) && bits > 8) return (char *)region->data + 1;
  return region->data;
}

void *nn_tensor(struct nn_scene *scene, int64_t rows, int64_t dim, int64_t stride, fovea_type type) {
  const int64_t extent[3] = {1, 1, rows};
  const fovea_strides strides = {0, 0, stride};
  return nn_tensor_of(scene, extent, strides, dim, type == FOVEA_F16 || type == FOVEA_BF16 ? 16 : 32);
}

int64_t *nn_list(struct nn_scene *scene, int64_t count, int64_t limit) {
  const int64_t most = REGION_BYTES; /* of words: too many */
  int64_t *list = nn_tensor(scene, 1, count > -most && count < most / 2 ? 2 * count : most, 0, FOVEA_F32);
  if (!list || (uintptr_t)list % sizeof *list != 0) return list;
  for (int64_t i = 0; i < count; i++)
    list[i] = scene->wild && bytes_one_in(scene->bytes, 8) ? wild_number(scene->bytes) : nn_below(scene, limit);
  return list;
}

static void *weights_of(struct nn_scene *scene, const fovea_nn_linear *layer) {
  if (layer->layout == FOVEA_NN_WEIGHTS_IN_ROWS)
    return nn_tensor(scene, layer->out, layer->in, layer->weight_stride, layer->weight_type);
  if (layer->layout == FOVEA_NN_WEIGHTS_QUANTISED) return nn_tensor(scene, 1, 16, 0, FOVEA_F32); /* no header */
  const int64_t elements = fovea_nn_panel_elements(layer->in, layer->out, layer->weight_type);
  return nn_tensor(scene, elements > 0, elements, 0, layer->weight_type);
}

fovea_nn_linear *nn_layer(struct nn_scene *scene, int64_t in, int64_t out) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_linear, in, LONG),
      NN_FIELD(fovea_nn_linear, out, LONG),
      NN_FIELD(fovea_nn_linear, weight_stride, LONG),
      NN_FIELD(fovea_nn_linear, weight_type, INTEGER),
      NN_FIELD(fovea_nn_linear, layout, INTEGER),
      NN_FIELD(fovea_nn_linear, activation, INTEGER),
      NN_FIELD(fovea_nn_linear, mode, INTEGER),
      NN_FIELD(fovea_nn_linear, struct_size, SIZE),
  };
  fovea_nn_linear *layer = &scene->layers[scene->layer_count++];
  EXPECT(scene->layer_count <= NN_LAYERS);
  fovea_nn_linear_init(layer, in, out, NULL);
  layer->weight_type = nn_type(scene);
  layer->activation = (fovea_nn_activation)nn_below(scene, 5);
  if (bytes_one_in(scene->bytes, 4)) {
    layer->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
    layer->weight_stride = 0;
  } else {
    layer->weight_stride = in + nn_below(scene, 3);
  }
  if (bytes_one_in(scene->bytes, 8)) NN_EDIT(scene, layer, fields);
  layer->weights = weights_of(scene, layer);
  if (bytes_one_in(scene->bytes, 2)) layer->bias = nn_tensor(scene, 1, layer->out, 0, FOVEA_F32);
  return layer;
}

int nn_layer_has_meaning(const fovea_nn_linear *layer) {
  if (layer->struct_size != sizeof *layer || layer->in < 1 || layer->out < 1 || !layer->weights) return 0;
  if (!nn_is_type(layer->weight_type) || (unsigned)layer->activation > FOVEA_NN_ACTIVATION_ELU) return 0;
  if (layer->mode != FOVEA_MODE_EXACT) return 0;
  return layer->layout == FOVEA_NN_WEIGHTS_IN_ROWS ||
         (layer->layout == FOVEA_NN_WEIGHTS_IN_PANELS && nn_stride(layer->weight_stride, 0) == 0);
}

fovea_nn_norm *nn_norm(struct nn_scene *scene, int index, int64_t dim) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_norm, dim, LONG),
      NN_FIELD(fovea_nn_norm, kind, INTEGER),
      NN_FIELD(fovea_nn_norm, eps, REAL),
      NN_FIELD(fovea_nn_norm, struct_size, SIZE),
  };
  fovea_nn_norm *norm = &scene->norms[index];
  fovea_nn_norm_init(norm, (fovea_nn_norm_kind)nn_below(scene, 2), dim);
  const int with_beta = norm->kind == FOVEA_NN_LAYER_NORM && bytes_one_in(scene->bytes, 2);
  if (bytes_one_in(scene->bytes, 4)) NN_EDIT(scene, norm, fields);
  if (bytes_one_in(scene->bytes, 2)) norm->gamma = nn_tensor(scene, 1, norm->dim, 0, FOVEA_F32);
  if (with_beta) norm->beta = nn_tensor(scene, 1, norm->dim, 0, FOVEA_F32);
  return norm;
}

int nn_norm_has_meaning(const fovea_nn_norm *norm) {
  return norm->struct_size == sizeof *norm && norm->dim >= 1 && (unsigned)norm->kind <= FOVEA_NN_RMS_NORM &&
         norm->eps >= 0 && (norm->kind == FOVEA_NN_LAYER_NORM || !norm->beta);
}
