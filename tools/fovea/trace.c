#include "trace.h"

#include "system.h"
#include <fovea/explain.h>

#include <stdlib.h>

/* ---- The run ------------------------------------------------------------------------------------------------- */

/* What the tasks of a phase share. */
typedef struct traced_phase {
  const fovea_run *run;
  int number;
  double start;        /* of the whole run, system_seconds() */
  trace_event *events; /* of the phase's tasks */
} traced_phase;

static int64_t nanoseconds_since(double start) {
  return (int64_t)((system_seconds() - start) * 1e9);
}

/* Phase, task and worker are those of the plan, so no task fails. */
static void run_task(const void *data, int64_t task, int worker) {
  const traced_phase *phase = data;
  trace_event *event = &phase->events[task];
  event->worker = worker;
  event->begin = nanoseconds_since(phase->start);
  fovea_run_task(phase->run, phase->number, task, worker, NULL);
  event->end = nanoseconds_since(phase->start);
}

static bool run_phases(const trace *trace, const fovea_run *run, const fovea_execution *execution, failure *why) {
  const double start = system_seconds();
  trace_event *events = trace->tasks;
  for (int i = 0; i < fovea_plan_phases(trace->plan); i++) {
    const traced_phase phase = {run, i, start, events};
    const int64_t tasks = fovea_plan_tasks(trace->plan, i);
    fovea_error error;
    trace->phases[i].begin = nanoseconds_since(start);
    if (fovea_tasks_run(run_task, &phase, tasks, trace->workers, execution, &error) != FOVEA_OK)
      return fail(why, "%s", error.text);
    trace->phases[i].end = nanoseconds_since(start);
    events += tasks;
  }
  return true;
}

/* How many workers fovea_plan_run() takes. */
static bool count_workers(const fovea_plan *plan, int threads, int *workers, failure *why) {
  fovea_explanation explanation;
  fovea_error error;
  fovea_explanation_init(&explanation);
  explanation.threads = threads;
  if (fovea_plan_explain(plan, &explanation, &error) != FOVEA_OK) return fail(why, "%s", error.text);
  *workers = explanation.workers;
  return true;
}

/* `size` bytes, or a little more, at a multiple of FOVEA_SCRATCH_ALIGNMENT within *memory. */
static void *allocate_aligned(size_t size, void **memory) {
  const size_t unit = FOVEA_SCRATCH_ALIGNMENT;
  *memory = size < SIZE_MAX - unit ? malloc(size + unit) : NULL;
  return *memory ? (char *)*memory + (unit - (uintptr_t)*memory % unit) : NULL;
}

static bool allocate_events(trace *trace) {
  size_t tasks = 0;
  const int phases = fovea_plan_phases(trace->plan);
  for (int i = 0; i < phases; i++) tasks += (size_t)fovea_plan_tasks(trace->plan, i);
  trace->phases = calloc((size_t)phases + 1, sizeof *trace->phases);
  trace->tasks = calloc(tasks + 1, sizeof *trace->tasks);
  return trace->phases && trace->tasks;
}

bool trace_run(trace *trace, const fovea_plan *plan, const fovea_tensors *tensors, int threads, failure *why) {
  trace->plan = plan;
  if (!count_workers(plan, threads, &trace->workers, why)) return false;
  const size_t scratch_size = fovea_plan_scratch_size(plan, trace->workers), run_size = fovea_run_size(plan);
  void *scratch_memory, *run_memory;
  void *scratch = allocate_aligned(scratch_size, &scratch_memory), *place = allocate_aligned(run_size, &run_memory);
  fovea_run *run;
  fovea_error error;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = threads;
  const bool done = ((scratch && place && allocate_events(trace)) || fail(why, "--trace: out of memory")) &&
                    (fovea_run_bind(plan, tensors, trace->workers, scratch, scratch_size, place, run_size, &run,
                                    &error) == FOVEA_OK ||
                     fail(why, "%s", error.text)) &&
                    run_phases(trace, run, &execution, why);
  free(scratch_memory);
  free(run_memory);
  return done;
}

/* ---- The file ------------------------------------------------------------------------------------------------ */

/* Rows of the picture: the phases, then a row for each worker. */
enum { PHASES_ROW, FIRST_WORKER_ROW };

/* One thing that took time. Microseconds, exactly. Its arguments and the closing brackets are still to come. */
static void begin_event(FILE *stream, const trace_event *event, int row, const char *category) {
  const long long begin = event->begin, length = event->end - event->begin;
  fprintf(
      stream,
      ",\n{\"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %lld.%03lld, \"dur\": %lld.%03lld, \"cat\": \"%s\", ",
      row, begin / 1000, begin % 1000, length / 1000, length % 1000, category);
}

/* "3", "3-5" for three numbers, or "none". */
static void write_range(FILE *stream, int64_t first, int64_t count) {
  if (count == 0) {
    fputs("none", stream);
    return;
  }
  fprintf(stream, "%lld", (long long)first);
  if (count != 1) fprintf(stream, "-%lld", (long long)(first + count - 1));
}

static void write_task(const trace *trace, int phase, int64_t task, const trace_event *event, FILE *stream) {
  fovea_task_explanation is;
  fovea_task_explanation_init(&is);
  if (fovea_plan_explain_task(trace->plan, phase, task, &is, NULL) != FOVEA_OK) return; /* there is such a task */
  begin_event(stream, event, FIRST_WORKER_ROW + event->worker, is.work);
  fprintf(stream, "\"name\": \"%s: sequence %lld, heads ", is.engine[0] ? is.engine : is.work,
          (long long)is.element);
  write_range(stream, is.first_head, is.heads);
  fputs(", rows ", stream);
  write_range(stream, is.first_row, is.rows);
  fputs(", keys ", stream);
  write_range(stream, is.first_key, is.keys);
  fprintf(stream,
          "\", \"args\": {\"phase\": %d, \"task\": %lld, \"work\": \"%s\", \"engine\": \"%s\", \"sequence\": %lld, "
          "\"first head\": %lld, \"heads\": %lld, \"first row\": %lld, \"rows\": %lld, \"first key\": %lld, "
          "\"keys\": %lld}}",
          phase, (long long)task, is.work, is.engine, (long long)is.element, (long long)is.first_head,
          (long long)is.heads, (long long)is.first_row, (long long)is.rows, (long long)is.first_key,
          (long long)is.keys);
}

static void write_row_name(FILE *stream, int row, const char *name, int number) {
  fprintf(stream,
          ",\n{\"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"name\": \"thread_name\", \"args\": {\"name\": \"%s", row,
          name);
  if (number >= 0) fprintf(stream, " %d", number);
  fprintf(stream,
          "\"}},\n{\"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"name\": \"thread_sort_index\", "
          "\"args\": {\"sort_index\": %d}}",
          row, row);
}

bool trace_write(const trace *trace, FILE *stream) {
  const trace_event *event = trace->tasks;
  fprintf(stream,
          "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"ph\": \"M\", \"pid\": 1, \"name\": "
          "\"process_name\", \"args\": {\"name\": \"Fovea %s, %s\"}}",
          fovea_version(), fovea_plan_isa(trace->plan));
  write_row_name(stream, PHASES_ROW, "phases", -1);
  for (int i = 0; i < trace->workers; i++) write_row_name(stream, FIRST_WORKER_ROW + i, "worker", i);
  for (int i = 0; i < fovea_plan_phases(trace->plan); i++) {
    const int64_t tasks = fovea_plan_tasks(trace->plan, i);
    begin_event(stream, &trace->phases[i], PHASES_ROW, "phase");
    fprintf(stream, "\"name\": \"phase %d\", \"args\": {\"tasks\": %lld}}", i, (long long)tasks);
    for (int64_t task = 0; task < tasks; task++) write_task(trace, i, task, event++, stream);
  }
  fputs("\n]}\n", stream);
  return !ferror(stream);
}

void trace_free(trace *trace) {
  free(trace->phases);
  free(trace->tasks);
}
