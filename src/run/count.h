/* Counts how much of the score matrix a run computes. */
#ifndef FOVEA_SRC_RUN_COUNT_H
#define FOVEA_SRC_RUN_COUNT_H

#include "run.h"

/* Walks every task as attention does, in the scratch of worker 0, and computes no scores. */
void fovea_count_run(const fovea_run *run, fovea_counts *counts);

#endif
