/* Parallel-for loops as a caller of the library may bring them. */
#ifndef FOVEA_TESTS_EXECUTORS_H
#define FOVEA_TESTS_EXECUTORS_H

#include <fovea/fovea.h>

enum task_order { TASKS_FORWARDS, TASKS_BACKWARDS, TASKS_SHUFFLED, TASK_ORDERS };

/* The context of the loops below, which are fovea_parallel_for functions. */
struct executor {
  enum task_order order;
  int calls; /* how often it was called so far */
};

/* The calling thread alone, taking each worker number in turn. */
void serial_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* `workers` POSIX threads that take the next task of the order when they are free. */
void threads_for(void *context, int64_t tasks, int workers, fovea_task_function run, void *job);

/* The task that comes at this step of an order. */
int64_t task_at(enum task_order order, int64_t tasks, int64_t step);

#endif
