/* The queries of a tile, brought into the form that scores are computed from. */
#ifndef FOVEA_SRC_RUN_QUERIES_H
#define FOVEA_SRC_RUN_QUERIES_H

#include "task.h"

/* As pairs where the plan has them and every element is for them, else as f32. */
void fovea_load_queries(fovea_task_context *context, fovea_tile *t);

/* As f32, unless they are already. */
void fovea_widen_queries(const fovea_task_context *context, fovea_tile *t);

#endif
