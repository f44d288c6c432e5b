/* A problem as the bytes of a fuzzer describe it. */
#ifndef FOVEA_TESTS_FUZZ_DESCRIPTION_H
#define FOVEA_TESTS_FUZZ_DESCRIPTION_H

#include "bytes.h"

#include <fovea/fovea.h>

enum { DESCRIPTION_LISTS = 6, DESCRIPTION_NAME = 12 };

/* Not to be copied. What the problem points to lies in allocations of exactly the size that the header states. */
struct description {
  fovea_problem problem;
  void *lists[DESCRIPTION_LISTS];
  char *isa;
};

/* Sound: a problem that validates and takes at most about `budget` products. Wild: in any field may be anything. */
enum description_kind { DESCRIBE_SOUND, DESCRIBE_WILD };

void description_create(struct description *description, struct bytes *bytes, enum description_kind kind,
                        int64_t budget);
void description_destroy(struct description *description);

#endif
