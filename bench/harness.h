/* Google Benchmark for benchmarks written in C.
 *
 * A benchmark is a function that is called once per round. It measures everything that it reports within that
 * round. The rounds are Google Benchmark's repetitions, and the report gives their medians: on a shared machine the
 * mean of a long run depends more on the neighbours than on the code. */
#ifndef FOVEA_BENCH_HARNESS_H
#define FOVEA_BENCH_HARNESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* One round. */
typedef struct bench_round bench_round;
typedef void (*bench_function)(bench_round *round, const void *argument);
typedef enum bench_unit { BENCH_NANOSECONDS, BENCH_MILLISECONDS } bench_unit;

/* `argument` is handed to the function and must live until the program ends. */
void bench_register(const char *name, bench_function function, const void *argument, bench_unit unit);

/* Seconds that the measured run took. Every round that is not skipped sets them once. */
void bench_seconds(bench_round *round, double seconds);
void bench_counter(bench_round *round, const char *name, double value);
/* Skips the round, and says why. */
void bench_skip(bench_round *round, const char *reason);

/* A line in the head of the report and in its JSON. */
void bench_context(const char *key, const char *value);

/* Runs the registered benchmarks that Google Benchmark's flags select. Returns main()'s status. Shows its progress
 * on stderr if that is a terminal. */
int bench_run(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
