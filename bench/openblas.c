#define _GNU_SOURCE /* environ, fork(), pipe() */
#include "openblas.h"

#include "harness.h"
#include "machine.h"
#include "vector_kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a restarted process: "probe" to measure and print; else the process is the program itself, and this text is
 * the result of the probes. */
#define ROLE_VARIABLE "FOVEA_BENCH_OPENBLAS"

typedef struct candidate {
  const char *core_type; /* OPENBLAS_CORETYPE; "" leaves the choice to OpenBLAS */
  int avx512;
} candidate;

/* The first is OpenBLAS's own choice, which may be wrong: a version does not know CPUs newer than itself. */
static const candidate candidates[] = {
    {"", 1},
#if defined(__x86_64__)
    {"Haswell", 0}, {"Zen", 0}, {"SkylakeX", 1}, {"Cooperlake", 1}, {"Sapphirerapids", 1},
#elif defined(__aarch64__)
    {"NEOVERSEN1", 0},
    {"NEOVERSEV1", 0},
    {"ARMV8", 0},
#endif
};
enum { candidates_count = sizeof candidates / sizeof candidates[0], probe_rounds = 5 };

/* All variables that would change what OpenBLAS does. */
static void clear_environment(void) {
  static const char *const prefixes[] = {"OPENBLAS_", "GOTO_NUM_THREADS="};
  for (int again = 1; again;) {
    again = 0;
    for (char **entry = environ; *entry && !again; entry++)
      for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0] && !again; i++)
        if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0) {
          char name[256];
          const size_t length = strcspn(*entry, "=");
          if (length >= sizeof name) continue;
          memcpy(name, *entry, length);
          name[length] = '\0';
          again = unsetenv(name) == 0; /* moves the other variables: start over */
        }
  }
}

/* Replaces this process by the same program. Returns only if that fails. */
static void restart(char **argv, const char *core_type, const char *role) {
  clear_environment();
  if (*core_type) setenv("OPENBLAS_CORETYPE", core_type, 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  setenv(ROLE_VARIABLE, role, 1);
  execv("/proc/self/exe", argv);
}

/* FLOP/s of the two products of attention, as the baseline uses them: 256 rows, 2,048 keys, 128 dims. */
static double measure_gemm(void) {
  enum { rows = 256, keys = 2048, dim = 128 };
  float *buffer = calloc((size_t)rows * dim + (size_t)keys * dim + (size_t)rows * keys, sizeof *buffer);
  if (!buffer) return 0.0;
  float *queries = buffer, *values = queries + rows * dim, *scores = values + keys * dim;
  double best = 0.0;
  for (int i = 0; i < 8; i++) {
    const double start = machine_now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dim, 1.0f, queries, dim, values, dim, 0.0f,
                scores, keys);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, dim, keys, 1.0f, scores, keys, values, dim, 0.0f,
                queries, dim);
    const double rate = 4.0 * rows * keys * dim / (machine_now() - start);
    if (rate > best) best = rate;
  }
  free(buffer);
  return best;
}

/* FLOP/s of a kernel, measured in a process of its own; 0 if it cannot run here. */
static double probe(char **argv, const char *core_type) {
  int ends[2];
  if (pipe(ends) != 0) return 0.0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    restart(argv, core_type, "probe");
    _exit(127);
  }
  close(ends[1]);
  double rate = 0.0;
  FILE *answer = fdopen(ends[0], "r");
  if (!answer || child < 0 || fscanf(answer, "%lf", &rate) != 1) rate = 0.0;
  if (answer) fclose(answer);
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  return status == 0 ? rate : 0.0;
}

static void probe_all(char **argv, int avx512, double rates[candidates_count]) {
  /* Each round measures all candidates, so that a busy neighbour does not slow down only one of them. */
  for (int round = 0; round < probe_rounds; round++)
    for (int i = 0; i < candidates_count; i++) {
      if (candidates[i].avx512 && !avx512) continue;
      const double rate = probe(argv, candidates[i].core_type);
      if (rate > rates[i]) rates[i] = rate;
    }
}

/* Any other kernel must beat OpenBLAS's own choice by more than noise. */
static int fastest(const double rates[candidates_count]) {
  int chosen = 0;
  for (int i = 1; i < candidates_count; i++) {
    const double margin = chosen == 0 ? 1.03 : 1.0;
    if (rates[i] > rates[chosen] * margin) chosen = i;
  }
  return chosen;
}

static void describe(char *text, size_t size, const double rates[candidates_count]) {
  size_t length = 0;
  for (int i = 0; i < candidates_count && length < size; i++) {
    if (rates[i] == 0.0) continue;
    const char *name = *candidates[i].core_type ? candidates[i].core_type : "own choice";
    const int added =
        snprintf(text + length, size - length, "%s%s %.0f", length ? ", " : "", name, rates[i] * 1e-9);
    length += added > 0 ? (size_t)added : 0;
  }
}

/* AVX-512 kernels are left out only if FOVEA_ISA forbids them to Fovea as well. */
static int may_use_avx512(void) {
  const vector_kernels *best = vector_kernels_best();
  return !getenv("FOVEA_ISA") || !best || strcmp(best->isa, "avx2") != 0;
}

static char probe_results[256];

void openblas_settle(char **argv) {
  const char *role = getenv(ROLE_VARIABLE);
  if (!role) {
    double rates[candidates_count] = {0.0};
    probe_all(argv, may_use_avx512(), rates);
    describe(probe_results, sizeof probe_results, rates);
    restart(argv, candidates[fastest(rates)].core_type, probe_results);
    return; /* no /proc: OpenBLAS stays as the environment set it, and the report names that kernel */
  }
  if (strcmp(role, "probe") == 0) {
    printf("%.6g\n", measure_gemm());
    exit(0);
  }
  snprintf(probe_results, sizeof probe_results, "%s", role);
  unsetenv(ROLE_VARIABLE);
  openblas_set_num_threads(1);
}

void openblas_report(void) {
  bench_context("openblas_core", openblas_get_corename());
  bench_context("openblas_config", openblas_get_config());
  bench_context("openblas_gflops_by_core", probe_results);
}
