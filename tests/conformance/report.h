/* The results of the cases: as lines to read, or as the page docs/conformance.md. */
#ifndef FOVEA_TESTS_CONFORMANCE_REPORT_H
#define FOVEA_TESTS_CONFORMANCE_REPORT_H

#include <stdbool.h>

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_NOT_RUN, OUTCOME_OTHER_OPERATOR, OUTCOMES };

struct result {
  const char *set; /* the set that the case is from: a folder of cases */
  char name[128], op[64], note[640];
  enum outcome outcome;
  double worst; /* the largest error; 1 is the tolerance */
};

struct report {
  struct result results[512];
  int count;
};

int report_count(const struct report *report, enum outcome outcome);
void report_line(const struct result *result);
void report_summary(const struct report *report);
void report_markdown(const struct report *report);

#endif
