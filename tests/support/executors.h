/* Parallel-for loops that a caller of the library may bring. */
#ifndef FOVEA_TESTS_EXECUTORS_H
#define FOVEA_TESTS_EXECUTORS_H

#include <fovea/fovea.h>

enum task_order { TASKS_FORWARDS, TASKS_BACKWARDS, TASKS_SHUFFLED, TASK_ORDERS };

/* The context of the loops below, which are fovea_parallel_for functions. */
struct executor {
  enum task_order order;
  int calls; /* how often it has been called */
};

/* Runs on the calling thread alone, and uses each worker number in turn. */
void serial_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* Runs on `workers` POSIX threads. A free thread takes the next task of the order. */
void threads_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* The task at this step of an order. */
int64_t task_at(enum task_order order, int64_t tasks, int64_t step);

#endif
