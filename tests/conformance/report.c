#include "report.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>
#include <stdio.h>
#include <string.h>

static const char *const words[OUTCOMES] = {"passed", "FAILED", "not run", "other"};

int report_count(const struct report *report, enum outcome outcome) {
  int count = 0;
  for (int i = 0; i < report->count; i++) count += report->results[i].outcome == outcome;
  return count;
}

void report_line(const struct result *result) {
  printf("%-8s %s/%s", words[result->outcome], result->set, result->name);
  if (result->outcome == OUTCOME_PASSED) printf(": %.2f of the tolerance", result->worst);
  if (result->outcome == OUTCOME_OTHER_OPERATOR) printf(": %s", result->op);
  printf("%s%s\n", *result->note ? "; " : "", result->note);
}

void report_summary(const struct report *report) {
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  printf("%d cases: %d passed, %d failed, %d not run, %d of other operators; on", report->count,
         report_count(report, OUTCOME_PASSED), report_count(report, OUTCOME_FAILED),
         report_count(report, OUTCOME_NOT_RUN), report_count(report, OUTCOME_OTHER_OPERATOR));
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++)
    if (isa.usable) printf(" %s", isa.name);
  putchar('\n');
}

static const char introduction[] =
    "# Conformance\n"
    "\n"
    "Fovea compared with the answers of other people's code and formulas: the operator tests of ONNX, and\n"
    "outputs of torch 1.13 and of the attention modules of some papers. The data is not part of this\n"
    "repository. The runner in `tests/conformance` finds it by `FOVEA_CONFORMANCE_DIR`; without it, the test\n"
    "is skipped. The runner prints this page:\n"
    "\n"
    "    FOVEA_CONFORMANCE_DIR=<data> build/test/tests/conformance/test_conformance --markdown\n"
    "\n"
    "A case passes if every element is within 2e-6 of the expected element, absolute plus relative (1e-3 if\n"
    "the output is f16), on every instruction set of the CPU, and all of them give the same bits. ONNX's\n"
    "expected numbers are f32 or f16, the others are f64.\n";

static const char onnx_semantics[] =
    "ONNX's words in Fovea's:\n"
    "\n"
    "- `is_causal` counts rows and keys from the first (`offset` 0), or, if there is a past, from its end\n"
    "  (`offset` is its length). With `nonpad_kv_seqlen` (`kv_lens`) the last row's own key is the last key in\n"
    "  use: `offsets` are these lengths less the rows, which may be negative.\n"
    "- `left_window_size` and `right_window_size` are `window_left` and `window_right`.\n"
    "- `attn_mask` may have fewer keys (`mask.keys`); it is added after the softcap. Rows that see no key give\n"
    "  zeros.\n"
    "- Tensors of rank 3 are read and written where they lie, by `fovea_strides_rows_before_heads()`.\n"
    "- `past_key` and `past_value` are one segment of a cache, K and V the next, read where they lie. With\n"
    "  `nonpad_kv_seqlen` K and V are one segment. `present_key` and `present_value` are not compared, since\n"
    "  the runner itself would make them.\n"
    "- `qk_matmul_output` is `tensors.scores`, its modes 0 to 3 are raw, capped and biased scores and weights.\n"
    "  `softmax_precision` is not used: docs/numerics.md defines the arithmetic.\n"
    "- `cos_cache` and `sin_cache` of RotaryEmbedding are the tables of a `fovea_rotary`. Without\n"
    "  `position_ids` they have one row for each row of X, and the position of a row is its number.\n"
    "- TensorScatter is `fovea_append()` of the rows `update` to caches of `fovea_cache_ring()`.\n";

static const char others_semantics[] =
    "The runner computes the projections around the attention, in double precision. Weights and features are\n"
    "not compared. Longformer's global tokens have projections of their own, so a case with such tokens is two\n"
    "calls, with patterns that leave the rows of the other call without keys.\n";

static bool is_of(const struct result *result, const char *set) {
  return strcmp(result->set, set) == 0 && result->outcome != OUTCOME_OTHER_OPERATOR;
}

static void print_table(const struct report *report, const char *set, const char *title, const char *text) {
  printf("\n## %s\n\n%s\n| case | operator | result | |\n|---|---|---|---|\n", title, text);
  for (int i = 0; i < report->count; i++) {
    const struct result *result = &report->results[i];
    if (is_of(result, set))
      printf("| `%s` | %s | %s | %s |\n", result->name, result->op, words[result->outcome], result->note);
  }
}

static bool is_first_of_op(const struct report *report, int index) {
  const struct result *result = &report->results[index];
  for (int i = 0; i < index; i++)
    if (strcmp(report->results[i].op, result->op) == 0) return false;
  return result->outcome == OUTCOME_OTHER_OPERATOR;
}

static void print_other_operators(const struct report *report) {
  printf(
      "\n## Other operators\n\nThe data has cases of other operators. The cases of layers are run by the tests of "
      "`fovea_nn` (tests/nn),\nLinearAttention and ReformerLSH by the tests of its variants (tests/variants), "
      "which also run the cases of Linformer, Longformer\nand Performer above, with projections and features; the "
      "others are "
      "not in this library.\n\n"
      "| operator | cases |\n|---|---|\n");
  for (int i = 0; i < report->count; i++) {
    if (!is_first_of_op(report, i)) continue;
    printf("| %s |", report->results[i].op);
    for (int j = i; j < report->count; j++)
      if (strcmp(report->results[j].op, report->results[i].op) == 0) printf(" `%s`", report->results[j].name);
    printf(" |\n");
  }
}

void report_markdown(const struct report *report) {
  printf("%s\n%d cases passed, %d failed, %d not run.\n", introduction, report_count(report, OUTCOME_PASSED),
         report_count(report, OUTCOME_FAILED), report_count(report, OUTCOME_NOT_RUN));
  print_table(report, "onnx", "ONNX", onnx_semantics);
  print_table(report, "oracles", "Others", others_semantics);
  print_other_operators(report);
}
