/* Runs the conformance data through the library:
 *
 *   test_conformance              a line for each case and a summary; status 1 if one of them failed
 *   test_conformance --markdown   the page docs/conformance.md, with the same status
 *
 * FOVEA_CONFORMANCE_DIR names the data. Without it the status is 77, which ctest takes as skipped. */
#define _XOPEN_SOURCE     700 /* opendir */
#define _FILE_OFFSET_BITS 64  /* readdir() fails on large inode numbers else */

#include "call.h"
#include "report.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_SKIPPED 77

static const struct {
  const char *op;
  prepare_call *prepare;
} operators[] = {
    {"Attention", prepare_onnx_attention},
    {"FlexAttention", prepare_flex_attention},
    {"MultiHeadAttention", prepare_multi_head},
    {"LinformerAttention", prepare_linformer},
    {"LongformerAttention", prepare_longformer},
    {"PerformerAttention", prepare_performer},
    {"RotaryEmbedding", prepare_rotary},
    {"TensorScatter", prepare_scatter},
    {"T5Bucket", prepare_buckets},
};

static prepare_call *find_operator(const char *op) {
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
    if (strcmp(operators[i].op, op) == 0) return operators[i].prepare;
  return NULL;
}

static void run_case(const struct test_case *test, struct result *result) {
  prepare_call *prepare = find_operator(test->op);
  if (!prepare) {
    result->outcome = OUTCOME_OTHER_OPERATOR;
    return;
  }
  struct call call = {.memory_count = 0};
  if (!prepare(test, &call)) {
    result->outcome = OUTCOME_NOT_RUN;
    snprintf(result->note, sizeof result->note, "%s", call.note);
  } else {
    const struct comparison comparison = call_run(&call);
    result->outcome = comparison.agrees ? OUTCOME_PASSED : OUTCOME_FAILED;
    result->worst = comparison.worst;
    snprintf(result->note, sizeof result->note, "%s%s%s", comparison.text,
             *comparison.text && *call.note ? "; " : "", call.note);
  }
  call_free(&call);
}

/* Runs the case in the folder `name` and adds its result to the report. */
static void take_case(struct report *report, const char *set, const char *directory, const char *name) {
  struct result *result = &report->results[report->count++];
  struct test_case test;
  *result = (struct result){.set = set};
  snprintf(result->name, sizeof result->name, "%.127s", name);
  if (!case_read(&test, directory, name, result->note, sizeof result->note)) {
    result->outcome = OUTCOME_FAILED;
    return;
  }
  snprintf(result->op, sizeof result->op, "%s", test.op);
  run_case(&test, result);
  case_free(&test);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Lists the names of the folders in a directory, in order. Returns how many there are; -1 if there is no such
 * directory. */
static int list_cases(const char *directory, char names[][128], int limit) {
  DIR *open = opendir(directory);
  int count = 0;
  if (!open) return -1;
  for (const struct dirent *entry = readdir(open); entry && count < limit; entry = readdir(open))
    if (!strchr(entry->d_name, '.')) snprintf(names[count++], sizeof names[0], "%.127s", entry->d_name);
  closedir(open);
  qsort(names, (size_t)count, sizeof names[0], compare_names);
  return count;
}

static void run_set(struct report *report, const char *root, const char *set, bool print_lines) {
  static char names[sizeof report->results / sizeof report->results[0]][128];
  const int limit = (int)(sizeof names / sizeof names[0]);
  char directory[1024];
  snprintf(directory, sizeof directory, "%s/%s", root, set);
  const int count = list_cases(directory, names, limit - report->count);
  for (int i = 0; i < count; i++) {
    take_case(report, set, directory, names[i]);
    if (print_lines) report_line(&report->results[report->count - 1]);
  }
}

int main(int argument_count, char **arguments) {
  static struct report report;
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  const bool markdown = argument_count == 2 && strcmp(arguments[1], "--markdown") == 0;
  if (argument_count > 1 && !markdown) {
    fprintf(stderr, "usage: %s [--markdown]\n", arguments[0]);
    return EXIT_FAILURE;
  }
  if (!root) {
    puts("skipped: FOVEA_CONFORMANCE_DIR is not set");
    return STATUS_SKIPPED;
  }
  run_set(&report, root, "onnx", !markdown);
  run_set(&report, root, "oracles", !markdown);
  if (report.count == 0) {
    printf("skipped: no cases in %s/onnx and %s/oracles\n", root, root);
    return STATUS_SKIPPED;
  }
  if (markdown)
    report_markdown(&report);
  else
    report_summary(&report);
  return report_count(&report, OUTCOME_FAILED) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
