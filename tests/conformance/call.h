/* The call into the library for a case, and the comparison of its results. */
#ifndef FOVEA_TESTS_CONFORMANCE_CALL_H
#define FOVEA_TESTS_CONFORMANCE_CALL_H

#include "case.h"
#include "tools/fovea/printf_like.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/pattern.h>
#include <fovea/rotary.h>
#include <fovea/terms.h>

enum { CALL_PATTERNS = 16 };

struct call {
  fovea_problem problem;
  fovea_tensors tensors;                     /* call_run() sets O */
  fovea_rotary rotary;                       /* if it has a struct_size: a rotary embedding instead of attention */
  fovea_rotation rotation;                   /* call_run() sets `to` */
  fovea_new_rows new_rows;                   /* if it has a struct_size: rows for caches instead of attention */
  fovea_pages pages;                         /* the caches, one page each; call_run() sets k */
  const void *past;                          /* what the caches hold before */
  const struct array *expected;              /* O, or its projection; O has the order of this array */
  const struct array *expected_scores;       /* if the problem has a scores.kind */
  const struct array *out_weight, *out_bias; /* a projection of O's rows; either may be NULL for none */
  fovea_problem second; /* if it has a struct_size: O is the sum of two calls, of which one gives zeros */
  fovea_tensors second_tensors;
  fovea_pattern *patterns[CALL_PATTERNS]; /* of the problems */
  int pattern_count;
  fovea_position_term term; /* of the problem, with its numbers */
  const float *term_numbers;
  struct array own_expected[2]; /* for `expected` and `expected_scores`, if the case has other arrays */
  char note[256];               /* further remarks, or why there is no call */
  void *memory[64];
  int memory_count;
};

/* Prepares the call for a case. Returns false if that is impossible; the note says why. */
typedef bool prepare_call(const struct test_case *test, struct call *call);

prepare_call prepare_onnx_attention, prepare_flex_attention;           /* onnx.c */
prepare_call prepare_scatter;                                          /* scatter.c */
prepare_call prepare_rotary;                                           /* rotary.c */
prepare_call prepare_longformer;                                       /* longformer.c */
prepare_call prepare_buckets;                                          /* buckets.c */
prepare_call prepare_multi_head, prepare_linformer, prepare_performer; /* oracles.c */

/* Tokens (batch, rows, in) times weight^T (in, out), plus the bias if there is one: (batch, rows + spare, out),
 * with `spare` rows of zeros at the end of each batch element. */
float *call_project(struct call *call, const struct array *tokens, const float *weight, const float *bias,
                    int64_t out, int64_t spare);
/* Sets up a problem over projected tensors, whose heads lie side by side in each row. */
void call_describe(struct call *call, const struct array *tokens, int64_t heads, int64_t kv_heads, int64_t keys,
                   int64_t dim);

/* Runs the call of prepare_scatter() on caches at `to`. */
fovea_status run_scatter(struct call *call, void *to, fovea_error *error);

/* The library's type for numbers of an array. Returns false if there is none. */
bool library_type(enum element element, fovea_type *type);

/* Appends to the note. */
PRINTF_LIKE(2, 3) void call_note(struct call *call, const char *format, ...);

/* Appends to the note why there is no call. Its value is false. */
#define CALL_REFUSED(...) (call_note(__VA_ARGS__), false)

/* A version of an operator that this runner does not know may have other attributes; then there is no call. */
bool call_knows_attributes(struct call *call, const struct test_case *test, const char *const *known, size_t count);

/* Allocates zeros, which call_free() frees. */
void *call_memory(struct call *call, int64_t count, size_t size);
void call_free(struct call *call);

struct comparison {
  bool agrees;
  double worst;   /* the largest error; 1 is the tolerance */
  char text[256]; /* what does not agree */
};

/* Runs the call on every instruction set that this CPU can run. Results must be within the tolerance, 2e-6 (1e-3
 * for f16, 1e-2 for bf16) both absolute and relative, and have the same bits everywhere. */
struct comparison call_run(struct call *call);

#endif
