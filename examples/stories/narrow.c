#include "narrow.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static int64_t rounded_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/* Keys of a little-endian word of 32 bits; 1: codes do not lie along keys. */
static int64_t keys_of_word(fovea_code code) {
  return code == FOVEA_CODE_U8_KEYS ? 4 : code == FOVEA_CODE_U4_KEYS ? 8 : code == FOVEA_CODE_U2_KEYS ? 16 : 1;
}

static bool choose_format(const char *name, int64_t dim, fovea_format *format, struct failure *failure) {
  const int found = fovea_format_named(name);
  fovea_error error;
  if (found < 0) return refuse(failure, "there is no format '%s'; `fovea cache --list` prints all", name);
  if (fovea_format_init(format, (fovea_format_name)found, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  if (format->group > dim) format->group = dim;
  return fovea_format_bytes(format, dim, &error) > 0 ||
         refuse(failure, "%s, for heads of %d dims: %s", name, (int)dim, error.text);
}

bool narrow_choose(const struct narrow_choice *choice, int64_t dim, fovea_format *k, fovea_format *v,
                   struct failure *failure) {
  return choose_format(choice->k, dim, k, failure) && choose_format(choice->v, dim, v, failure);
}

int64_t narrow_group(const fovea_format *format) {
  return format->key_group > 1 ? format->key_group : keys_of_word(format->code);
}

float narrow_scale(const struct narrow_choice *choice, const fovea_format *format) {
  if (choice->scale != 0) return (float)choice->scale;
  return format->code == FOVEA_CODE_S8 ? 0.25f : format->code == FOVEA_CODE_U4 ? 2 : 1;
}

static void measure(struct narrow_side *side, int64_t dim, int64_t positions) {
  const fovea_format *format = &side->format;
  const bool apart = format->place == FOVEA_SCALES_APART;
  const int64_t size = format->scale_type == FOVEA_F32 ? 4 : 2;
  side->group = narrow_group(format);
  side->unit_keys = apart ? keys_of_word(format->code) : side->group;
  side->unit_bytes = fovea_format_bytes(format, dim, NULL);
  side->head_bytes = rounded_up(positions, side->unit_keys) / side->unit_keys * side->unit_bytes;
  side->position_bytes = (double)side->unit_bytes / (double)side->unit_keys;
  if (!apart) return;
  side->scale_row = size * (format->group ? dim / format->group : 1);
  side->scale_bytes = rounded_up(positions, format->key_group) / format->key_group * side->scale_row;
  side->position_bytes +=
      (double)(side->scale_row * (format->formula == FOVEA_FORMULA_SCALE ? 1 : 2)) / (double)format->key_group;
}

/* Lays a side out from byte `at` on; returns the byte after it. Without memory it only counts. */
static size_t lay_out(struct narrow_side *side, const struct narrow_cache *cache, size_t at) {
  const int64_t heads = cache->layers * cache->kv_heads;
  const size_t sizes[] = {(size_t)(heads * side->head_bytes), (size_t)(heads * side->scale_bytes),
                          (size_t)(heads * side->scale_bytes),
                          (size_t)(heads * cache->room * cache->dim) * sizeof(float)};
  char *parts[4] = {NULL};
  for (int i = 0; i < 4; i++) {
    if (cache->memory && sizes[i] > 0) parts[i] = (char *)cache->memory + at;
    at += (size_t)rounded_up((int64_t)sizes[i], ALIGNMENT);
  }
  side->codes = parts[0];
  side->scales = parts[1];
  side->zeros = side->format.formula == FOVEA_FORMULA_SCALE ? NULL : parts[2];
  side->newest = (float *)(void *)parts[3];
  return at;
}

bool narrow_create(struct narrow_cache *cache, const fovea_format *k, const fovea_format *v, int64_t layers,
                   int64_t kv_heads, int64_t dim, int64_t positions, int64_t chunk, struct failure *failure) {
  *cache = (struct narrow_cache){.layers = layers, .kv_heads = kv_heads, .dim = dim, .positions = positions};
  cache->k.format = *k;
  cache->v.format = *v;
  if (k->key_group == 0 || v->key_group == 0)
    return refuse(failure, "keys that share scales in groups go with no format whose keys all share one");
  measure(&cache->k, dim, positions);
  measure(&cache->v, dim, positions);
  cache->group = cache->k.group > cache->v.group ? cache->k.group : cache->v.group;
  if (cache->group % cache->k.group != 0 || cache->group % cache->v.group != 0)
    return refuse(failure, "groups of %d keys and of %d values do not fit", (int)cache->k.group,
                  (int)cache->v.group);
  cache->room = cache->group - 1 + chunk;
  cache->bytes = lay_out(&cache->v, cache, lay_out(&cache->k, cache, 0));
  cache->memory = calloc(cache->bytes, 1);
  if (!cache->memory) return refuse(failure, "no memory for a cache of %zu bytes", cache->bytes);
  lay_out(&cache->v, cache, lay_out(&cache->k, cache, 0));
  return true;
}

void narrow_destroy(struct narrow_cache *cache) {
  free(cache->memory);
  cache->memory = NULL;
}

static fovea_code_scales scales_of(const struct narrow_side *side, int64_t first_head) {
  const int64_t at = first_head * side->scale_bytes, size = side->format.scale_type == FOVEA_F32 ? 4 : 2;
  if (!side->scales) return (fovea_code_scales){.scales = NULL};
  return (fovea_code_scales){.scales = side->scales + at,
                             .zeros = side->zeros ? side->zeros + at : NULL,
                             .head = side->scale_bytes,
                             .row = side->scale_row,
                             .group = size};
}

static fovea_segment coded(const struct narrow_cache *cache, int64_t layer, int64_t rows) {
  const int64_t head = layer * cache->kv_heads;
  return (fovea_segment){.rows = rows,
                         .k = cache->k.codes + head * cache->k.head_bytes,
                         .v = cache->v.codes + head * cache->v.head_bytes,
                         .k_head = cache->k.head_bytes,
                         .k_row = cache->k.unit_bytes,
                         .v_head = cache->v.head_bytes,
                         .v_row = cache->v.unit_bytes,
                         .k_format = &cache->k.format,
                         .v_format = &cache->v.format,
                         .k_scales = scales_of(&cache->k, head),
                         .v_scales = scales_of(&cache->v, head),
                         .kv_heads = cache->kv_heads,
                         .qk_dim = cache->dim,
                         .v_dim = cache->dim};
}

static fovea_segment newest(const struct narrow_cache *cache, int64_t layer) {
  const int64_t head = cache->room * cache->dim, at = layer * cache->kv_heads * head;
  return (fovea_segment){.first = cache->narrowed,
                         .rows = cache->room,
                         .k = cache->k.newest + at,
                         .v = cache->v.newest + at,
                         .k_head = head,
                         .k_row = cache->dim,
                         .v_head = head,
                         .v_row = cache->dim,
                         .kv_heads = cache->kv_heads,
                         .qk_dim = cache->dim,
                         .v_dim = cache->dim};
}

int64_t narrow_segments(const struct narrow_cache *cache, int64_t layer, int64_t end, fovea_segment *segments) {
  int64_t count = 0;
  if (cache->narrowed > 0) segments[count++] = coded(cache, layer, cache->narrowed);
  if (cache->narrowed < end) segments[count++] = newest(cache, layer);
  return count;
}

/* Moves rows that are not quantised to the beginning of their room. */
static void close_gap(const struct narrow_cache *cache, float *rows, int64_t from, int64_t count) {
  for (int64_t head = 0; head < cache->layers * cache->kv_heads; head++) {
    float *first = rows + head * cache->room * cache->dim;
    memmove(first, first + from * cache->dim, (size_t)(count * cache->dim) * sizeof *first);
  }
}

bool narrow_settle(struct narrow_cache *cache, int64_t end, struct failure *failure) {
  const int64_t full = end / cache->group * cache->group;
  if (full == cache->narrowed) return true;
  for (int64_t layer = 0; layer < cache->layers; layer++) {
    const fovea_segment wide = newest(cache, layer), narrow = coded(cache, layer, full);
    const fovea_sequence from = fovea_sequence_of(&wide, 1), to = fovea_sequence_of(&narrow, 1);
    fovea_error error;
    if (fovea_sequence_copy(&from, &to, 1, cache->kv_heads, cache->dim, cache->dim, cache->narrowed, full, NULL,
                            &error) != FOVEA_OK)
      return refuse(failure, "%s", error.text);
  }
  close_gap(cache, cache->k.newest, full - cache->narrowed, end - full);
  close_gap(cache, cache->v.newest, full - cache->narrowed, end - full);
  cache->narrowed = full;
  return true;
}

double narrow_position_bytes(const struct narrow_cache *cache) {
  return (double)(cache->layers * cache->kv_heads) * (cache->k.position_bytes + cache->v.position_bytes);
}
