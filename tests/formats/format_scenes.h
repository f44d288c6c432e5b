/* Scenes of caches with formats, of which a test spoils one thing: a segment, pages, a format by itself. What refuses them
 * has to name the field, and outputs have to stay as they are. */
#ifndef FOVEA_TESTS_FORMAT_SCENES_H
#define FOVEA_TESTS_FORMAT_SCENES_H

#include "narrow.h"

#include "support/check.h"

#include <fovea/cache.h>

enum { HEADS = 2, ROWS = 3, KEYS = 64, DIM = 64, UNTOUCHED = 0x3a };

/* Where all outputs of scenes lie, and what caches point into: codes of both sides, scales and zeros, with room for any
 * format of DIM dims; a centre. */
extern float scene_o[HEADS * ROWS * DIM], scene_lse[HEADS * ROWS];
extern float scene_memory[4][HEADS * KEYS * DIM];
extern float scene_centre[HEADS * DIM];

struct scene {
  fovea_format format, v_format;
  fovea_segment segments[2];
  fovea_sequence sequence;
  fovea_problem problem;
  fovea_tensors tensors;
};

/* The second of two segments has the format. */
void scene_set(struct scene *scene, fovea_format_name name);
/* Attends, and compares the status and the words of the error. */
void assert_scene(const struct scene *scene, fovea_status status, const char *const *words);
/* Whether all bytes are UNTOUCHED. */
int is_untouched(const void *bytes, size_t size);

/* Pages of both formats, which they point to. */
void scene_pages(fovea_pages *pages, fovea_format *format, fovea_format *v_format, fovea_format_name name);
/* Makes a segment of the pages, and compares the status and the words of the error. */
void assert_pages(const fovea_pages *pages, fovea_status status, const char *const *words);

/* SEGMENT(preset, change of `segment` or `scene`, status, words...). */
#define SEGMENT(name, change, status, ...)                                                                         \
  do {                                                                                                             \
    static struct scene scene;                                                                                     \
    scene_set(&scene, name);                                                                                       \
    fovea_segment *segment = &scene.segments[1];                                                                   \
    (void)segment;                                                                                                 \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_scene(&scene, status, words);                                                                           \
  } while (0)

/* PAGES(preset, change of `pages`, `format` or `v_format`, status, words...). */
#define PAGES(name, change, status, ...)                                                                           \
  do {                                                                                                             \
    fovea_format format, v_format;                                                                                 \
    fovea_pages pages;                                                                                             \
    scene_pages(&pages, &format, &v_format, name);                                                                 \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_pages(&pages, status, words);                                                                           \
  } while (0)

/* A format by itself, as the second side of a segment and of pages. */
void assert_format_refused(const fovea_format *format, fovea_status status, const char *field,
                           const char *const *words);

/* FORMAT(preset, change of `f`, status, field, words...). */
#define FORMAT(name, change, status, field, ...)                                                                   \
  do {                                                                                                             \
    fovea_format f = narrow_format(name);                                                                          \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_format_refused(&f, status, field, words);                                                               \
  } while (0)

/* Short names. */
#define I8   FOVEA_FORMAT_I8_ROWS
#define Q8_0 FOVEA_FORMAT_Q8_0
#define Q4_0 FOVEA_FORMAT_Q4_0
#define KIVI FOVEA_FORMAT_KIVI_K4
#define ZERO FOVEA_FORMAT_OPENVINO_U8

#endif
