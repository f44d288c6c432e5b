/* Caches: keys and values of sequences in segments, pages and rings, and new rows for them. docs/caches.md
 * explains. */
#ifndef FOVEA_CACHE_H
#define FOVEA_CACHE_H

#include <fovea/rotary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Segments ------------------------------------------------------------------------------------------------ */

/* How the keys of a segment lie in memory.
 *   ROWS     each key is a row of qk_dim elements;
 *   PANELS   FOVEA_PANEL_ROWS keys lie side by side, panel[dim][key]: the fastest for decoding. In bf16, pairs of
 *            dims stay together, panel[dim / 2][key][dim % 2], and a zero follows an odd last dim. All
 *            fovea_panel_elements() elements of a panel must exist, even if it is not full yet. */
typedef enum fovea_key_layout { FOVEA_KEYS_IN_ROWS = 0, FOVEA_KEYS_IN_PANELS = 1 } fovea_key_layout;

/* The number of keys in a panel. */
#define FOVEA_PANEL_ROWS 16

/* Returns how many elements a panel has: FOVEA_PANEL_ROWS * qk_dim, for bf16 with qk_dim rounded up to even. */
FOVEA_API int64_t fovea_panel_elements(int64_t qk_dim, fovea_type type);

/* How the codes of a quantised cache become numbers: fovea/format.h. */
typedef struct fovea_format fovea_format;

/* The scales of the keys or values of a segment whose format has scales apart, or a centre. Strides count bytes. A
 * scale and its zero or minimum have the same strides. Fill it with designated initialisers, or clear it first. */
typedef struct fovea_code_scales {
  void *scales,
      *zeros; /* of kv head 0, the first key and the first group of dims; zeros: with a formula that has them */
  int64_t layer, head; /* between layers, and between kv heads */
  int64_t row;         /* between keys; if keys share scales, between groups of keys */
  int64_t group;       /* between groups of dims */
  /* A number for each dim that is added to keys or values: a row of f32 for each kv head; NULL: none. Only with
   * FOVEA_FORMULA_SCALE. A centre of keys does not change scores, but makes quantised keys more precise. */
  const float *centre;
  int64_t centre_layer, centre_head;
} fovea_code_scales;

/* Keys and values of one sequence at positions first to first + rows - 1, for all of its kv heads, and for all
 * layers of a model that lie at equal distances. Strides count elements and may be negative; the last axis is
 * contiguous. Attention only reads segments; fovea_append() writes to them. Fields that are not set must be 0:
 * fill a segment with fovea_segment_init() or designated initialisers, or clear it first. */
typedef struct fovea_segment {
  int64_t first, rows;
  void *k, *v;               /* kv head 0 of position `first`; with panels: the panel that begins there */
  int64_t k_head, k_row;     /* between kv heads, and between rows (panels: between panels) */
  int64_t v_head, v_row;     /* the same for values, which always lie in rows */
  fovea_type k_type, v_type; /* may differ from segment to segment */
  fovea_key_layout k_layout; /* PANELS: `first` is a multiple of FOVEA_PANEL_ROWS */
  int64_t layers;            /* how many layers the segment has; 0 means 1 */
  int64_t k_layer, v_layer;  /* between layers; not used if there is one */

  /* Formats of codes in place of k_type and v_type, which are then 0. NULL (default): none. All strides of a side
   * with a format count bytes. If groups of keys share scales that lie with their codes, k_row is the distance
   * between groups; if codes lie along keys, between rows of words. */
  const fovea_format *k_format, *v_format;
  fovea_code_scales k_scales, v_scales; /* for formats with scales apart, or a centre; else all 0 */

  /* How many kv heads the segment has, and the dims of its keys and values; segments of pages have the numbers of
   * the pages. A call for other numbers is refused. 0 (default): not known, and not checked: the memory must then
   * have what each call names. */
  int64_t kv_heads, qk_dim, v_dim;
} fovea_segment;

/* Sets these fields for contiguous keys (kv_heads, rows, qk_dim) and values (kv_heads, rows, v_dim) of one type,
 * and the others to 0. Callers in C use fovea_segment_init(). kv_heads is not known, unless the caller sets it. */
FOVEA_API void fovea_segment_init_sized(fovea_segment *segment, size_t segment_size, int64_t first, int64_t rows,
                                        int64_t qk_dim, int64_t v_dim, fovea_type type, void *k, void *v);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_segment_init(fovea_segment *segment, int64_t first, int64_t rows, int64_t qk_dim,
                                      int64_t v_dim, fovea_type type, void *k, void *v) {
  fovea_segment_init_sized(segment, sizeof *segment, first, rows, qk_dim, v_dim, type, k, v);
}

/* The segments of one sequence, in ascending order of positions, without overlaps. They hold every position that a
 * call names or reads, and may hold more. A run reads the positions from the sequence's kv_begin to its kv length
 * - 1 (but for cache.holes). Sequences may share segments. fovea_sequence_of(), fovea_cache_paged() and
 * fovea_cache_ring() make sequences. Later versions add no field to this struct. */
struct fovea_sequence {
  const fovea_segment *segments; /* in the order of their positions */
  int64_t count;                 /* how many segments */
  size_t segment_size;           /* bytes of one; set by fovea_sequence_of() and the functions that make segments */
};

/* Returns a sequence of the segments of an array, with the size of a segment that this program was compiled
 * with. */
static inline fovea_sequence fovea_sequence_of(const fovea_segment *segments, int64_t count) {
  fovea_sequence sequence;
  sequence.segments = segments;
  sequence.count = count;
  sequence.segment_size = sizeof *segments;
  return sequence;
}

/* ---- Pages --------------------------------------------------------------------------------------------------- */

/* Memory for keys and values in pages of equal size: pages of a block table, or one page for each contiguous cache
 * or ring. Prepare it with fovea_pages_init(), then set k and v, and change what differs from the defaults. The
 * fovea_cache functions below make segments of pages in the caller's array. They allocate nothing, and read no key
 * and no value. Calls may run at the same time if no two write the same array. */
typedef struct fovea_pages {
  size_t struct_size;        /* set by fovea_pages_init() */
  int64_t count, page_rows;  /* at least 1: how many pages, and how many positions fit in a page */
  int64_t kv_heads;          /* at least 1 */
  int64_t qk_dim, v_dim;     /* at least 1 */
  void *k, *v;               /* the first row (panel) of kv head 0 of page 0 */
  fovea_type k_type, v_type; /* default: the type that the initialiser was given */
  fovea_key_layout k_layout; /* PANELS: page_rows is a multiple of FOVEA_PANEL_ROWS */
  /* `batch` is the distance between pages; `row` of k is, with panels, the distance between panels. Default:
   * contiguous (page, head, row, dim); k then has count * k_strides.batch elements, v count * v_strides.batch.
   * fovea_strides_rows_before_heads(page_rows, kv_heads, dim) are the strides of (page, row, head, dim). The
   * initialiser computes them, since callers allocate by them; a size that is changed later does not change them.
   * If rows would then share memory (but for strides of 0, which repeat), calls return FOVEA_ERROR_ARGUMENT. */
  fovea_strides k_strides, v_strides;
  /* How many layers of a model share block tables, and so each page; they lie k_layer (v_layer) elements apart.
   * Default: 1 layer, and the elements of all pages, so that layers follow each other. If you change the strides of
   * pages, set k_layer and v_layer, too. */
  int64_t layers, k_layer, v_layer;
  size_t segment_size; /* bytes of a segment made of these pages; set by fovea_pages_init() */

  /* Formats of codes in place of k_type and v_type; fovea_pages_set_formats() sets these fields and the strides.
   * NULL (default): none. All distances of a side with a format count bytes. `row` of its strides, k_scales and
   * v_scales mean what they do in segments; k_scale_page (v_scale_page) is the distance between the scales of
   * pages, and of zeros, 0 if all pages have the same. If keys share scales or words, page_rows is a multiple of
   * these keys. */
  const fovea_format *k_format, *v_format;
  fovea_code_scales k_scales, v_scales; /* of page 0; all pages have one centre */
  int64_t k_scale_page, v_scale_page;
} fovea_pages;

/* Sets sizes, types, layout and strides, and k and v to NULL. Callers in C use fovea_pages_init(). */
FOVEA_API void fovea_pages_init_sized(fovea_pages *pages, size_t struct_size, size_t segment_size, int64_t count,
                                      int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim,
                                      fovea_type type, fovea_key_layout k_layout);

/* Passes the sizes of the struct and of segments that this program was compiled with. */
static inline void fovea_pages_init(fovea_pages *pages, int64_t count, int64_t page_rows, int64_t kv_heads,
                                    int64_t qk_dim, int64_t v_dim, fovea_type type, fovea_key_layout k_layout) {
  fovea_pages_init_sized(pages, sizeof *pages, sizeof(fovea_segment), count, page_rows, kv_heads, qk_dim, v_dim,
                         type, k_layout);
}

/* Gives keys and values formats of codes (NULL: that side stays as it is). Call it after fovea_pages_init(), and
 * before you set k, v and pointers to scales. It sets a side's type, and its strides for (layer, page, head, row)
 * without gaps: the codes of a layer take count * k_strides.batch bytes, for values count * v_strides.batch.
 * Scales apart, and zeros, get the strides of (layer, page, head, keys, dims), and each take count * k_scale_page
 * bytes a layer; if all keys share them, they get the strides of (layer, head, dims), and take k_scales.layer
 * bytes a layer. All strides may then be changed: for one scale of all heads and layers, set `head` and `layer` to
 * 0. Errors: the errors of fovea_format_bytes(), and with panels of fovea_format_panel_bytes();
 * FOVEA_ERROR_ARGUMENT if page_rows is no multiple of the keys that share scales or words. On failure nothing has
 * changed. */
FOVEA_API fovea_status fovea_pages_set_formats(fovea_pages *pages, const fovea_format *k_format,
                                               const fovea_format *v_format, fovea_error *error);

/* Contiguous, with room to grow: makes one segment, of positions 0 to page_rows - 1 in page `page`. `error` may be
 * NULL. */
FOVEA_API fovea_status fovea_cache_contiguous(const fovea_pages *pages, int64_t page, fovea_segment *segment,
                                              fovea_error *error);

/* Paged: positions i * page_rows to (i + 1) * page_rows - 1 are in page table[i]; the table has table_length
 * numbers. Makes segments of the whole pages that hold positions begin to end - 1, and reads no other number of the
 * table. Pages that follow each other in memory become one segment. `segments` has room for segment_limit segments;
 * if more are needed, the call fails and the error text says how many. One for each page is always enough. Sets
 * *sequence to these segments. On failure neither `segments` nor *sequence is written. */
FOVEA_API fovea_status fovea_cache_paged(const fovea_pages *pages, const int32_t *table, int64_t table_length,
                                         int64_t begin, int64_t end, fovea_segment *segments, int64_t segment_limit,
                                         fovea_sequence *sequence, fovea_error *error);

/* Paged, for all sequences of a batch: like fovea_cache_paged() for each sequence in turn, with all segments in
 * one array. The table of sequence b is row b of `tables`, table_length numbers, and its positions are begins[b]
 * (NULL: 0) to ends[b] - 1. Sets sequences[b] to the segments of sequence b. */
FOVEA_API fovea_status fovea_cache_paged_batch(const fovea_pages *pages, int64_t batch, const int32_t *tables,
                                               int64_t table_length, const int64_t *begins, const int64_t *ends,
                                               fovea_segment *segments, int64_t segment_limit,
                                               fovea_sequence *sequences, fovea_error *error);

/* The most segments that a ring has. */
#define FOVEA_RING_SEGMENTS 2

/* Ring: position p is in row p % page_rows of page `page`, so the page holds the latest page_rows positions. Makes
 * up to FOVEA_RING_SEGMENTS segments for positions begin to end - 1, at most page_rows positions. In a step with R
 * new rows, `end` is the length with these rows and `begin` is end - page_rows, or 0 if that is negative: append
 * the rows, then attend with kv_begins of `begin`. For windows, if the new rows are computed at once, page_rows
 * must be at least window_left + R. For chunks, if rows are computed as soon as all the keys that they see are
 * there, page_rows must be at least chunks.left + chunks.size + chunks.right + R - 1. With panels the first segment
 * begins at a whole panel, which no longer holds the positions before `begin`; with a format, at a whole word and
 * group of keys. A group that shares scales holds keys of one round only: `begin` must then be at least `end`,
 * rounded up to a whole group, - page_rows. */
FOVEA_API fovea_status fovea_cache_ring(const fovea_pages *pages, int64_t page, int64_t begin, int64_t end,
                                        fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                                        fovea_error *error);

/* Counts the users of each page: sequences share a prefix if their tables name the same pages. Only one thread at a
 * time may use a pool. */
typedef struct fovea_page_pool {
  int32_t *references; /* one for each page, in the caller's memory; free pages are chained in it */
  int32_t count;       /* how many pages */
  int32_t free_count;  /* how many of them are free */
  int32_t first_free;  /* the first page of the chain; `count` if no page is free */
} fovea_page_pool;

/* Makes a pool of `count` free pages; `references` has room for `count` numbers. Error:
 * FOVEA_ERROR_ARGUMENT. */
FOVEA_API fovea_status fovea_page_pool_init(fovea_page_pool *pool, int32_t *references, int32_t count,
                                            fovea_error *error);

/* Sets *page to a free page, which then has one user. FOVEA_ERROR_MEMORY if no page is free. */
FOVEA_API fovea_status fovea_page_take(fovea_page_pool *pool, int32_t *page, fovea_error *error);

/* Share adds a user to a page. Release removes one; a page without users is free. FOVEA_ERROR_ARGUMENT if the page
 * is not in use. */
FOVEA_API fovea_status fovea_page_share(fovea_page_pool *pool, int32_t page, fovea_error *error);
FOVEA_API fovea_status fovea_page_release(fovea_page_pool *pool, int32_t page, fovea_error *error);

/* Returns 1 if a page has more than one user, else 0. */
FOVEA_API int fovea_page_is_shared(const fovea_page_pool *pool, int32_t page);

/* Copy on write, before rows are appended to a page that holds `rows` rows (0 to page_rows). If the page has other
 * users, a free page replaces it: the rows are copied there, and *page becomes its number. A page with one user
 * stays.
 *
 * `pages` describes all memory that the pool's numbers name: an array of `pages_count` (at least 1) structs, each
 * with all of its layers. If layers have memory of their own but share a table, there is one struct for each of
 * these memories. The rows of a layer that is left out are lost. */
FOVEA_API fovea_status fovea_page_own(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                      int32_t *page, int64_t rows, fovea_error *error);

/* Makes room for new rows of a batch: sequence b has lens[b] rows and is to have ends[b]. The table of sequence
 * b is row b of `tables`, table_length numbers, of which the first page_counts[b] are pages of the sequence; all
 * others may be anything. Set page_counts to 0 for a new sequence; this function and fovea_page_truncate() keep
 * it. Each page that new rows lie in becomes the sequence's own, as fovea_page_own() does, and free pages are
 * added to the table up to ends[b]. Pages that an earlier call has added stay, so a step that was given up after
 * this call may be tried again, or another one, and no page is lost. All structs of `pages` have the same
 * page_rows, and at least as many pages as the pool. If the call fails (FOVEA_ERROR_MEMORY: there are too few free
 * pages for the batch), no table, count or page of any sequence has changed. Other errors: FOVEA_ERROR_SPACE (a
 * table is too short), FOVEA_ERROR_ARGUMENT (lens and ends do not ascend, a table names a page that is not in
 * use, ...). */
FOVEA_API fovea_status fovea_page_extend(const fovea_pages *pages, int64_t pages_count, fovea_page_pool *pool,
                                         int64_t batch, int32_t *tables, int64_t table_length, int64_t *page_counts,
                                         const int64_t *lens, const int64_t *ends, fovea_error *error);

/* The reverse: sequence b keeps the pages of its first lens[b] rows, and releases its other pages from
 * page_counts[b] downwards, for instance pages of drafts that were rejected. A length of 0 releases the whole
 * table of a sequence that has ended. Numbers of a table below 0 are passed over: pages of a window that were
 * given back before. page_rows is the page_rows of the pages; tables and counts are as for fovea_page_extend(),
 * also for one sequence alone. On failure (FOVEA_ERROR_ARGUMENT: a page is not in use, ...) nothing has
 * changed. */
FOVEA_API fovea_status fovea_page_truncate(fovea_page_pool *pool, int64_t page_rows, int64_t batch,
                                           const int32_t *tables, int64_t table_length, int64_t *page_counts,
                                           const int64_t *lens, fovea_error *error);

/* ---- New rows ------------------------------------------------------------------------------------------------ */

/* New keys and values, (batch, kv_heads, rows, dim) tensors that fovea_append() writes into caches. Row i of
 * sequence b goes to position first_position + i, or first_positions[b] + i, of sequences[b]. Prepare it with
 * fovea_new_rows_init(). */
typedef struct fovea_new_rows {
  size_t struct_size;                           /* set by fovea_new_rows_init() */
  int64_t batch, kv_heads, rows, qk_dim, v_dim; /* at least 1; rows at least 0 */
  const void *k, *v;                            /* the elements with all indices 0 */
  fovea_strides k_strides, v_strides;           /* default: FOVEA_CONTIGUOUS */
  fovea_type k_type, v_type;                    /* default FOVEA_F32; segments have their own types */
  const fovea_sequence *sequences;              /* `batch` of them; only their segments' memory is written */
  int64_t first_position;                       /* 0 or more; default 0 */
  /* `batch` int64 in place of first_position, which must then be 0. Default NULL. */
  const int64_t *first_positions;
  /* `batch` int64, each from 0 to rows: how many new rows each sequence has. Default NULL: all. */
  const int64_t *row_lens;

  /* Packed batches: the new rows of sequence b are rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1,
   * kv_heads, rows, dim). cu_seqlens has `batch` + 1 numbers from 0 to rows, which never decrease. Batch strides
   * are then not used, and row_lens must be NULL. Default NULL. */
  const int32_t *cu_seqlens;
  int64_t layer; /* which layer of the segments is written, from 0. Default 0 */

  /* Keys and values are rotated, keys after the rotary embedding, by the normalised Walsh-Hadamard matrix in
   * blocks of this many dims: a power of 2 from 2 to 4096 that divides the dim, which is then at most 4096. An
   * outlier in one dim is spread over the block, so quantised formats lose less. Scores are the same if
   * fovea_hadamard_apply() rotates queries by the block of keys, and outputs are turned back by the block of
   * values. llama.cpp: blocks of 64, and of keys the largest power of 2 that divides the dim. Default 0: none. */
  int64_t k_hadamard, v_hadamard;

  /* Where keys are rotated to, if that is not their place in the cache: drafts of a tree lie one after the other
   * but are at the position of their depth, rows after left padding or after a gap count from elsewhere, rows of
   * M-RoPE have several numbers. `batch` * `rows` int64 for each axis of the embedding, as
   * fovea_rotation.positions has them; packed, `rows` int64. From -2^40 to 2^40; needs a rotary embedding. Default
   * NULL: the place in the cache. */
  const int64_t *rotary_positions;
} fovea_new_rows;

/* Sets these eight fields, and the others to their defaults. Callers in C use fovea_new_rows_init(). */
FOVEA_API void fovea_new_rows_init_sized(fovea_new_rows *rows, size_t struct_size, int64_t batch, int64_t kv_heads,
                                         int64_t row_count, int64_t qk_dim, int64_t v_dim, const void *k,
                                         const void *v, const fovea_sequence *sequences);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_new_rows_init(fovea_new_rows *rows, int64_t batch, int64_t kv_heads, int64_t row_count,
                                       int64_t qk_dim, int64_t v_dim, const void *k, const void *v,
                                       const fovea_sequence *sequences) {
  fovea_new_rows_init_sized(rows, sizeof *rows, batch, kv_heads, row_count, qk_dim, v_dim, k, v, sequences);
}

/* Writes the new rows into the segments that hold their positions. Elements are copied bit for bit, or, if the
 * types differ, rounded once. With `rotary` (NULL: none) keys are rotated for their positions, or for
 * rotary_positions, and still rounded once. In a panel the other keys keep their bits. A side with a format is
 * written by it (fovea/format.h): keys are rotated in f32 and not rounded before they are quantised; rows have at
 * most 4096 dims. Keys that share scales or words are written in whole groups, counted from the segment's first
 * key, or up to its last. The call fails before it writes anything if no segment holds a position, or if rows to
 * be written would share memory with each other, with the tensors or with tables of the embedding. Calls may run
 * at the same time if none writes a row that another reads or writes. Runs as row-wise calls do
 * (fovea_execution). */
FOVEA_API fovea_status fovea_append(const fovea_new_rows *rows, const fovea_rotary *rotary,
                                    const fovea_execution *execution, fovea_error *error);

/* Copies the keys and values at positions begin to end - 1 of one sequence to the same positions of another, in
 * layers 0 to layers - 1, which every segment must have. Types and layouts may differ. Use it to store old rows in
 * a smaller type or format, or to copy pages. Quantised rows are copied as they are if both sequences have the
 * same format, and the same scales if scales are fixed; otherwise they are dequantised and quantised anew. It
 * converts elements, runs and fails as fovea_append() does; error texts call `from` sequences[0] and `to`
 * sequences[1]. */
FOVEA_API fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                           int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin,
                                           int64_t end, const fovea_execution *execution, fovea_error *error);

/* The default of rotate_by: as far as the rows move. */
#define FOVEA_ROTATE_AS_MOVED INT64_MIN

/* Rows of one sequence that move to other positions: the keys and values at positions begin to end - 1 go to `to`
 * and the positions after it; the two ranges may overlap. Prepare it with fovea_move_init(). docs/caches.md has
 * recipes: context shift, attention sinks, eviction. */
typedef struct fovea_move {
  size_t struct_size;              /* set by fovea_move_init() */
  const fovea_sequence *sequence;  /* holds both ranges of positions; only the segments' memory is written */
  int64_t layers;                  /* layers 0 to layers - 1 move, which every segment must have; default 1 */
  int64_t kv_heads, qk_dim, v_dim; /* at least 1 */
  int64_t begin, end, to;          /* from 0; begin at most end */

  /* Rotates keys on, so that they have the angles of their new positions. The embedding has a base or frequencies;
   * tables are refused, since they have no differences of positions. NULL (default): keys keep their angles, which
   * is right if queries have rotary positions that still count what was taken away. */
  const fovea_rotary *rotary;
  int64_t rotate_by;  /* from -2^40 to 2^40, on every axis. Default FOVEA_ROTATE_AS_MOVED: to - begin */
  int64_t k_hadamard; /* as the keys were appended with; used with `rotary`. Default 0 */
} fovea_move;

/* Sets these seven fields, and the others to their defaults. Callers in C use fovea_move_init(). */
FOVEA_API void fovea_move_init_sized(fovea_move *move, size_t struct_size, const fovea_sequence *sequence,
                                     int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end,
                                     int64_t to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_move_init(fovea_move *move, const fovea_sequence *sequence, int64_t kv_heads,
                                   int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end, int64_t to) {
  fovea_move_init_sized(move, sizeof *move, sequence, kv_heads, qk_dim, v_dim, begin, end, to);
}

/* Moves the rows, in any format and layout, without memory of its own. Values, and keys without `rotary`, keep
 * their bits where type or format of both places are the same. A rotated key becomes f32, is rotated, and is
 * written as fovea_append() writes: elements are rounded once, quantised keys get new scales. So each call with
 * `rotary` costs quantised keys a rounding; docs/caches.md says how much. Rotated keys, and sides with a format,
 * have at most 4096 dims. Keys that share scales or words are written in whole groups, as by fovea_append(); if a
 * group has more than 4096 numbers of a head, rows move by at least a group. Positions that rows have left keep
 * their bytes. The call runs and fails as fovea_append() does; it uses a thread for the keys and one for the
 * values of each layer. */
FOVEA_API fovea_status fovea_sequence_move(const fovea_move *move, const fovea_execution *execution,
                                           fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
