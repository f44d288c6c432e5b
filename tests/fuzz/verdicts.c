#include "verdicts.h"

#include "expect.h"

#include <string.h>

enum verdict judge_marks(const struct arena *arena) {
  if (arena->outside) return VERDICT_ELSEWHERE;
  return arena->shared ? VERDICT_SHARED : VERDICT_RIGHT;
}

/* A sound call whose verdict is right may still be refused as if elements shared memory: its rows interleave without
 * sharing memory. */
void expect_verdict(const struct scene *scene, enum verdict verdict, fovea_status status,
                    const fovea_error *error) {
  EXPECT(arena_is_as_modelled(&scene->arena));
  if (status != FOVEA_OK) expect_failure(status, error);
  EXPECT(status != FOVEA_OK || verdict == VERDICT_RIGHT);
  EXPECT(scene->wild || verdict != VERDICT_RIGHT || status == FOVEA_OK ||
         (status == FOVEA_ERROR_ARGUMENT && strstr(error->text, "share memory") != NULL));
}
