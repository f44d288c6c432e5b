/* The list of engines. */
#ifndef FOVEA_SRC_RUN_ENGINES_H
#define FOVEA_SRC_RUN_ENGINES_H

#include "engine.h"

/* Chooses the engine of the task, and of all tasks of its entry in this run. */
const fovea_engine *fovea_find_engine(const fovea_task_context *context);

#endif
