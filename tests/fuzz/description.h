/* A problem that the bytes of a fuzzer describe. */
#ifndef FOVEA_TESTS_FUZZ_DESCRIPTION_H
#define FOVEA_TESTS_FUZZ_DESCRIPTION_H

#include "bytes.h"

#include <fovea/fovea.h>

enum { DESCRIPTION_LISTS = 9, DESCRIPTION_NAME = 32 };

/* Must not be copied. The problem's arrays are allocations of exactly the size that the header states. */
struct description {
  fovea_problem problem;
  void *lists[DESCRIPTION_LISTS];
  char *isa;
};

/* Sound: a valid problem of at most about `budget` products. Wild: any field may have any value. */
enum description_kind { DESCRIBE_SOUND, DESCRIBE_WILD };

void description_create(struct description *description, struct bytes *bytes, enum description_kind kind,
                        int64_t budget);
void description_destroy(struct description *description);

#endif
