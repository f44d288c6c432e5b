/* What segments with formats lack, or have and do not use, how far they reach, and outputs over them: refused, with
 * texts that name the field; outputs are then untouched. */
#include "format_scenes.h"

#include "support/check.h"
#include "support/error_says.h"
#include "support/memory.h"

#include <string.h>

/* What a side of a segment lacks, or has and does not use. */
static void test_sides(void **state) {
  (void)state;
  SEGMENT(I8, (void)0, FOVEA_OK, "");
  SEGMENT(ZERO, (void)0, FOVEA_OK, "");
  SEGMENT(I8, segment->k = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].k is NULL");
  SEGMENT(I8, segment->v = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v is NULL");
  SEGMENT(I8, segment->k_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].k_scales.scales is NULL");
  SEGMENT(I8, segment->v_scales.scales = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v_scales.scales is NULL");
  SEGMENT(KIVI, segment->v_scales.zeros = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].v_scales.zeros is NULL");
  SEGMENT(I8, segment->k_scales.zeros = scene_centre, FOVEA_ERROR_UNUSED, "k_scales.zeros is set", "none apart");
  SEGMENT(Q8_0, segment->v_scales.scales = scene_centre, FOVEA_ERROR_UNUSED, "v_scales.scales is set", "beside");
  SEGMENT(ZERO, segment->v_scales.zeros = scene_centre, FOVEA_ERROR_UNUSED, "v_scales.zeros is set", "none apart");
  SEGMENT(ZERO, segment->k_scales.centre = scene_centre, FOVEA_ERROR_UNUSED, "k_scales.centre is set",
          "FORMULA_SCALE");
  SEGMENT(FOVEA_FORMAT_IQ4_NL, segment->k_scales.centre = scene_centre, FOVEA_ERROR_UNUSED, "k_scales.centre",
          "table");
  SEGMENT(I8, segment->v_scales.centre = scene_centre, FOVEA_OK, "");
  SEGMENT(I8, segment->v_scales.centre = (const float *)(const void *)((const char *)scene_centre + 2),
          FOVEA_ERROR_ARGUMENT, "v_scales.centre", "multiple of 4");
  SEGMENT(I8, segment->k_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "k_type is 1", "must be 0");
  SEGMENT(I8, segment->v_type = FOVEA_BF16, FOVEA_ERROR_UNUSED, "v_type is 2", "must be 0");
  SEGMENT(I8, segment->v_format = NULL; segment->v_scales.scales = NULL; segment->v_row = DIM / 8, FOVEA_OK, "");
  SEGMENT(I8, segment->v_format = NULL, FOVEA_ERROR_UNUSED, "v_scales is set", "v_format is NULL");
  SEGMENT(Q8_0, segment->k_format = NULL;
          segment->k_scales.zeros = scene_centre, FOVEA_ERROR_UNUSED, "k_scales is set");
  SEGMENT(Q8_0, segment->k_format = NULL;
          segment->k_scales.centre = scene_centre, FOVEA_ERROR_UNUSED, "k_scales is set");
}

static void test_reach(void **state) {
  (void)state;
  const int64_t far = INT64_C(1) << 57;
  SEGMENT(I8, segment->k_row = far, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches", "2^57");
  SEGMENT(I8, segment->v_head = -far, FOVEA_ERROR_ARGUMENT, "segments[1].v reaches");
  SEGMENT(I8, segment->v_head = INT64_MIN, FOVEA_ERROR_ARGUMENT, "segments[1].v reaches");
  SEGMENT(I8, segment->layers = 3; segment->k_layer = far / 2 + 1, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches");
  SEGMENT(I8, segment->layers = far / 512; segment->k_layer = far, FOVEA_ERROR_ARGUMENT, "segments[1].k reaches");
  SEGMENT(I8, segment->k_scales.row = far / 8, FOVEA_ERROR_ARGUMENT, "k_scales.scales reaches");
  SEGMENT(I8, segment->v_scales.head = INT64_MAX, FOVEA_ERROR_ARGUMENT, "v_scales.scales reaches");
  SEGMENT(I8, segment->layers = 2; segment->v_scales.layer = INT64_MIN, FOVEA_ERROR_ARGUMENT, "v_scales.scales");
  SEGMENT(KIVI, segment->v_scales.group = far / 16, FOVEA_ERROR_ARGUMENT, "v_scales.scales reaches");
  SEGMENT(I8, segment->k_scales.centre = scene_centre;
          segment->k_scales.centre_head = far, FOVEA_ERROR_ARGUMENT, "k_scales.centre reaches");
  /* Strides of axes with one element are not used. */
  SEGMENT(I8, segment->k_scales.group = INT64_MIN, FOVEA_OK, "");
  SEGMENT(I8, segment->k_layer = segment->k_scales.layer = INT64_MAX, FOVEA_OK, "");
}

/* Outputs and scratch over codes, scales, zeros and centres that are read. */
static void assert_overlap(void *written, size_t bytes, void *read, int which) {
  static struct scene scene;
  scene_set(&scene, which == 2 ? FOVEA_FORMAT_KIVI_V4 : I8);
  if (which == 3) scene.segments[1].v_scales.centre = read;
  if (which == 2) scene.segments[1].v_scales.zeros = read;
  if (which == 1) scene.segments[1].v_scales.scales = read;
  if (which == 0) scene.segments[1].v = read;
  fovea_error error;
  fovea_execution execution;
  fovea_execution_init(&execution);
  if (bytes > sizeof scene_o) { /* scratch */
    execution.scratch = written;
    execution.scratch_size = bytes;
    execution.threads = 1;
  } else if (bytes == sizeof scene_lse) {
    scene.tensors.lse = written;
  } else {
    scene.tensors.o = written;
  }
  static float before[sizeof scene_memory / sizeof(float)];
  memcpy(before, scene_memory, sizeof scene_memory);
  assert_int_equal(fovea_attend(&scene.problem, &scene.tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, bytes > sizeof scene_o      ? "scratch shares memory with v"
                            : bytes == sizeof scene_lse ? "lse shares memory with v"
                                                        : "o shares memory with v");
  assert_memory_equal(before, scene_memory, sizeof scene_memory);
}

static void test_overlap(void **state) {
  (void)state;
  enum { SCRATCH = 1 << 22 };
  unsigned char *scratch = memory_allocate(SCRATCH);
  memset(scratch, 0, SCRATCH);
  static float shared[HEADS * KEYS * DIM];
  for (int which = 0; which < 4; which++) {
    assert_overlap(shared, sizeof scene_o, shared, which);
    assert_overlap(shared, sizeof scene_lse, shared, which);
    assert_overlap(scratch, SCRATCH, scratch + 64, which);
  }
  memory_free(scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sides),
      cmocka_unit_test(test_reach),
      cmocka_unit_test(test_overlap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
