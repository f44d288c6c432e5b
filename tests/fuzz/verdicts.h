/* What a call on caches has to do, judged before it is made, and whether it did. */
#ifndef FOVEA_TESTS_FUZZ_VERDICTS_H
#define FOVEA_TESTS_FUZZ_VERDICTS_H

#include "scene.h"

enum verdict {
  VERDICT_REFUSED,   /* for what it says, whatever lies anywhere */
  VERDICT_ELSEWHERE, /* it speaks of memory that is not there, or of more than is worth the time: not made */
  VERDICT_SHARED,    /* refused: what is written is written twice, or read */
  VERDICT_RIGHT
};

/* More are not worth the time. */
enum { HEADS_JUDGED = 16, ROWS_JUDGED = 1024 };

/* Of the marks of what a call may use. */
enum verdict judge_marks(const struct arena *arena);

/* After a call that may write to caches; what it should have written is in the model. */
void expect_verdict(const struct scene *scene, enum verdict verdict, fovea_status status, const fovea_error *error);

#endif
