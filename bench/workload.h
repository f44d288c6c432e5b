/* One problem with its data, for Fovea and for the baseline. */
#ifndef FOVEA_BENCH_WORKLOAD_H
#define FOVEA_BENCH_WORKLOAD_H

#include <fovea/format.h>
#include <fovea/fovea.h>
#include <fovea/terms.h>
#include <stddef.h>
#include <stdint.h>

/* Masks of rows and keys, the same for all batch elements and heads. */
typedef enum bench_mask {
  BENCH_NO_MASK,
  BENCH_MASK_ADDED,     /* f32, small numbers: every key is visible */
  BENCH_MASK_ALL,       /* boolean, every key is visible */
  BENCH_MASK_HALF_TILES /* boolean, half of the tiles of 64 rows and 64 keys, at random places */
} bench_mask;

/* Where keys and values lie. Caches have one batch element. */
typedef enum bench_cache {
  BENCH_CONTIGUOUS, /* plain tensors; with a format one segment, keys in rows */
  BENCH_PANELS,     /* one segment, keys in panels */
  BENCH_PAGES       /* pages of page_rows rows, in no order */
} bench_cache;

/* Patterns of one batch element, made by pattern_rules.c; causal unless the name says otherwise. */
typedef enum bench_pattern {
  BENCH_NO_PATTERN,
  BENCH_PATTERN_WINDOW_512,
  BENCH_PATTERN_WINDOW_128,
  BENCH_PATTERN_WINDOW_GLOBAL, /* 512 keys and the first 64 */
  BENCH_PATTERN_LONGFORMER,    /* 256 keys to both sides, and four global tokens */
  BENCH_PATTERN_CHUNKS_512,    /* both ways, and one chunk before */
  BENCH_PATTERN_PREFIX,        /* causal, but every row sees the first quarter */
  BENCH_PATTERN_DOCUMENTS_512,
  BENCH_PATTERN_DOCUMENTS_128,
  BENCH_PATTERN_BLOCKS, /* a tenth of 64 x 64 blocks at random, and the diagonal; not causal */
  BENCH_PATTERN_GRID    /* 13 x 13 cells of 64 x 64; not causal */
} bench_pattern;

/* What a run computes besides O. */
typedef enum bench_output {
  BENCH_NO_OUTPUT,
  BENCH_OUTPUT_COLUMN_SUMS,
  BENCH_OUTPUT_TOP_KEYS, /* 64 of each row */
  BENCH_OUTPUT_ENTROPY,
  BENCH_OUTPUT_WEIGHTS
} bench_output;

/* The shape that a benchmark's name describes. */
typedef struct bench_shape {
  const char *name; /* "prefill/h8_s2048_d128/causal" */
  int64_t batch, heads, kv_heads, q_len, kv_len, dim;
  double softcap;                 /* 0: none */
  int64_t window_left;            /* with causal; 0: no window */
  int64_t chunk_size, chunk_left; /* 0: no chunks */
  int causal;
  int packed;            /* batch elements of 20 to 500 rows, one after the other */
  int rows_before_heads; /* (batch, rows, heads, dim), as projections produce */
  fovea_type type;       /* of Q, K, V and O */
  bench_mask mask;       /* without causal, window and chunks */
  bench_cache cache;
  int64_t page_rows, page_gap; /* 0: 16; numbers between pages: multiples of 4 KB crowd few sets of caches */
  const char *format;          /* the preset of a quantised cache of f32 problems, "q8_0"; NULL: none */
  int64_t shaw;                /* the distance of Shaw's keys and values; 0: none */
  fovea_position_kind term;    /* 0: none; a grid is one line of seven cells after the other */
  bench_pattern pattern;
  bench_output output;
  fovea_mode scores, values;
} bench_shape;

/* The rows and keys of one batch element, within the tensors. */
typedef struct bench_entry {
  int64_t batch; /* index for the batch strides */
  int64_t first_row, rows, first_key, keys;
} bench_entry;

typedef struct bench_workload {
  const bench_shape *shape;
  fovea_problem problem;
  float *q, *k, *v, *o;  /* f32, whatever the type; k and v are NULL with other types and in caches */
  fovea_tensors tensors; /* for Fovea: q, k, v, o or their half-precision copies, and the mask */
  uint16_t *halves;      /* q and o in half precision; NULL for f32 */
  void *mask;            /* NULL without one */
  fovea_position_term term;
  float *term_numbers; /* NULL without a term */
  const float *terms[1];
  float *shaw;            /* NULL without Shaw's vectors */
  fovea_pattern *pattern; /* NULL without one */
  void *output;           /* NULL without one */
  size_t output_count;    /* numbers in o */
  void *kv_memory;        /* keys and values as Fovea reads them, one after the other */
  size_t kv_bytes;
  int32_t *page_table; /* of a cache, as are the next four */
  fovea_segment *segments;
  fovea_sequence sequence;
  fovea_format format;
  int64_t code_row_bytes; /* of a row of codes, with the scales that lie among them */
  bench_entry *entries;
  int64_t entry_count, longest_entry;
  int32_t *cu_seqlens;
  int64_t pairs_visible, pairs_of_rules; /* with the mask, and without */
} bench_workload;

/* In f32, contiguous and without a mask; inputs.h and caches.h add the rest. 0 without memory. Values are from -1
 * to 1 and the same in every run. */
int bench_workload_create(bench_workload *workload, const bench_shape *shape);
void bench_workload_destroy(bench_workload *workload);

/* The keys that a row sees: `from` to `to` - 1 of its batch element. */
typedef struct bench_interval {
  int64_t from, to;
} bench_interval;
bench_interval bench_seen(const bench_shape *shape, const bench_entry *entry, int64_t row);

/* Flops of the two products over the visible pairs. */
double bench_useful_flops(const bench_workload *workload);

/* Memory aligned for any vector, in huge pages if the system grants them, and already mapped. NULL without memory.
 * Free it with free(). */
void *bench_allocate(size_t bytes);

#endif
