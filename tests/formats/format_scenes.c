#include "format_scenes.h"

#include "support/caches.h"
#include "support/refusals.h"

#include <stdio.h>
#include <string.h>

static float scene_q[HEADS * ROWS * DIM];
float scene_o[HEADS * ROWS * DIM], scene_lse[HEADS * ROWS];
float scene_memory[4][HEADS * KEYS * DIM];
float scene_centre[HEADS * DIM];

void scene_set(struct scene *scene, fovea_format_name name) {
  const int64_t bytes = 8 * KEYS * DIM;
  memset(scene, 0, sizeof *scene);
  scene->format = scene->v_format = narrow_format(name);
  scene->segments[0] = (fovea_segment){.rows = 1,
                                       .k = scene_memory[0],
                                       .v = scene_memory[1],
                                       .k_head = DIM,
                                       .k_row = DIM,
                                       .v_head = DIM,
                                       .v_row = DIM};
  fovea_segment *segment = &scene->segments[1];
  segment->first = 1;
  segment->rows = KEYS - 1;
  segment->k = scene_memory[0];
  segment->v = scene_memory[1];
  segment->k_head = segment->v_head = bytes / 8;
  segment->k_row = segment->v_row = 2 * DIM;
  segment->k_format = &scene->format;
  segment->v_format = &scene->v_format;
  if (scene->format.place == FOVEA_SCALES_APART) {
    segment->k_scales.scales = segment->v_scales.scales = scene_memory[2];
    if (scene->format.formula != FOVEA_FORMULA_SCALE)
      segment->k_scales.zeros = segment->v_scales.zeros = scene_memory[3];
  }
  scene->sequence = fovea_sequence_of(scene->segments, 2);
  fovea_problem_init(&scene->problem, 1, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  scene->problem.cache.segmented = 1;
  fovea_tensors_init(&scene->tensors, scene_q, NULL, NULL, scene_o, scene_lse);
  scene->tensors.cache.sequences = &scene->sequence;
}

void assert_scene(const struct scene *scene, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  memset(scene_o, UNTOUCHED, sizeof scene_o);
  memset(scene_lse, UNTOUCHED, sizeof scene_lse);
  const fovea_status actual = fovea_attend(&scene->problem, &scene->tensors, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  if (status == FOVEA_OK) return;
  assert_says(&error, status, words);
  assert_true(is_untouched(scene_o, sizeof scene_o) && is_untouched(scene_lse, sizeof scene_lse));
  assert_int_equal(fovea_attend(&scene->problem, &scene->tensors, NULL, NULL), status);
}

int is_untouched(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)bytes)[i] != UNTOUCHED) return 0;
  return 1;
}

void scene_pages(fovea_pages *pages, fovea_format *format, fovea_format *v_format, fovea_format_name name) {
  fovea_error error;
  *format = *v_format = narrow_format(name);
  fovea_pages_init(pages, 2, 32, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  if (fovea_pages_set_formats(pages, format, v_format, &error) != FOVEA_OK) fail_msg("%s", error.text);
  pages->k = scene_memory[0];
  pages->v = scene_memory[1];
  if (format->place != FOVEA_SCALES_APART) return;
  pages->k_scales.scales = pages->v_scales.scales = scene_memory[2];
  if (format->formula != FOVEA_FORMULA_SCALE) pages->k_scales.zeros = pages->v_scales.zeros = scene_memory[3];
}

void assert_pages(const fovea_pages *pages, fovea_status status, const char *const *words) {
  fovea_segment segment;
  fovea_error error;
  memset(&segment, UNTOUCHED, sizeof segment);
  memset(&error, 'x', sizeof error);
  const fovea_status actual = fovea_cache_contiguous(pages, 1, &segment, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  if (status == FOVEA_OK) return;
  assert_says(&error, status, words);
  assert_true(is_untouched(&segment, sizeof segment));
}

void assert_format_refused(const fovea_format *format, fovea_status status, const char *field,
                           const char *const *words) {
  static struct scene scene;
  char text[100];
  const char *all[8] = {text}; /* and NULL after the words */
  for (size_t i = 0; words[i] != NULL; i++) all[i + 1] = words[i];
  fovea_error error;
  memset(&error, 'x', sizeof error);
  assert_int_equal(fovea_format_bytes(format, DIM, &error), 0);
  snprintf(text, sizeof text, "format.%s is ", field);
  assert_says(&error, status, all);
  assert_int_equal(fovea_format_bytes(format, DIM, NULL), 0);

  scene_set(&scene, FOVEA_FORMAT_Q8_0);
  scene.v_format = *format;
  snprintf(text, sizeof text, "sequences[0].segments[1].v_format.%s is ", field);
  assert_scene(&scene, status, all);

  fovea_format good, bad;
  fovea_pages pages, before;
  scene_pages(&pages, &good, &bad, FOVEA_FORMAT_Q8_0);
  bad = *format;
  snprintf(text, sizeof text, "pages.v_format.%s is ", field);
  assert_pages(&pages, status, all);
  before = pages;
  assert_int_equal(fovea_pages_set_formats(&pages, &good, format, &error), status);
  assert_says(&error, status, all);
  assert_memory_equal(&pages, &before, sizeof pages);
}
