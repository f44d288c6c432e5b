/* Judges, before a call on caches is made, what it must do, and checks afterwards whether it did. */
#ifndef FOVEA_TESTS_FUZZ_VERDICTS_H
#define FOVEA_TESTS_FUZZ_VERDICTS_H

#include "scene.h"

enum verdict {
  VERDICT_REFUSED,   /* for its arguments, wherever memory lies */
  VERDICT_ELSEWHERE, /* not made: it names memory that is not there, or more than is worth the time */
  VERDICT_SHARED,    /* refused: bytes that are written are written twice, or read */
  VERDICT_RIGHT
};

/* Calls with more are not judged, to save time. */
enum { HEADS_JUDGED = 16, ROWS_JUDGED = 1024 };

/* Judges by the marks of the bytes that a call may use. */
enum verdict judge_marks(const struct arena *arena);

/* Checks after a call that may write to caches. The model holds what the call should have written. */
void expect_verdict(const struct scene *scene, enum verdict verdict, fovea_status status, const fovea_error *error);

#endif
