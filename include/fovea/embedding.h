/* Positions, embedding, and what else makes rows of ids. */
#ifndef FOVEA_EMBEDDING_H
#define FOVEA_EMBEDDING_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a list's numbers: INT32 for int32_t, INT64 for int64_t. */
typedef enum fovea_nn_id_type { FOVEA_NN_INT32 = 0, FOVEA_NN_INT64 = 1 } fovea_nn_id_type;

/* Where sines and cosines stand in a row. */
typedef enum fovea_nn_wave_layout {
  FOVEA_NN_WAVES_INTERLEAVED = 0, /* sine, cosine, sine, ... */
  FOVEA_NN_WAVES_IN_HALVES = 1    /* all sines, then all cosines */
} fovea_nn_wave_layout;

/* The frequency of wave i. BY_DIM: base^(-2i / dim), by Vaswani et al., 2017; of an odd dim the last cosine is
 * missing. TO_BASE: base^(-i / (n - 1)) for n = floor(dim / 2) waves, so the last has exactly 1 / base, as in
 * tensor2tensor and fairseq; of an odd dim the last number is 0. */
typedef enum fovea_nn_wave_exponent {
  FOVEA_NN_WAVES_BY_DIM = 0,
  FOVEA_NN_WAVES_TO_BASE = 1
} fovea_nn_wave_exponent;

/* Sinusoidal positions: row r, at position p, is sin(p f[i]) and cos(p f[i]), or x * scale plus these waves. */
typedef struct fovea_nn_sinusoid_rows {
  size_t struct_size;              /* set by fovea_nn_sinusoid_rows_init() */
  int64_t rows;                    /* at least 0 */
  int64_t dim;                     /* from 1 to 2^20 */
  void *y;                         /* (rows, dim) */
  fovea_type y_type;               /* default FOVEA_F32 */
  int64_t y_stride;                /* elements from row to row; default: dim */
  double base;                     /* finite and at least 1 (else FOVEA_ERROR_ARGUMENT); default 10000 */
  fovea_nn_wave_layout layout;     /* default FOVEA_NN_WAVES_INTERLEAVED */
  fovea_nn_wave_exponent exponent; /* default FOVEA_NN_WAVES_BY_DIM */

  /* Positions from -2^40 to 2^40. */
  int64_t first_position;   /* of row 0, each later row one further; default 0 */
  const int64_t *positions; /* of each row, instead; NULL (default): none */

  /* (rows, dim) numbers that the positions are added to. NULL (default): none. x_type, x_stride and scale are used
   * with it. It may be y itself. */
  const void *x;
  fovea_type x_type; /* default FOVEA_F32 */
  int64_t x_stride;  /* default: dim */
  float scale;       /* finite; default 1. Vaswani et al. take sqrt(dim) */
} fovea_nn_sinusoid_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_sinusoid_rows_init(). */
FOVEA_NN_API void fovea_nn_sinusoid_rows_init_sized(fovea_nn_sinusoid_rows *rows, size_t struct_size,
                                                    int64_t row_count, int64_t dim, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_sinusoid_rows_init(fovea_nn_sinusoid_rows *rows, int64_t row_count, int64_t dim,
                                               void *y) {
  fovea_nn_sinusoid_rows_init_sized(rows, sizeof *rows, row_count, dim, y);
}

/* Writes the rows. Angles are exact at all positions, as in a rotary embedding. */
FOVEA_NN_API fovea_status fovea_nn_sinusoids(const fovea_nn_sinusoid_rows *rows, const fovea_execution *execution,
                                             fovea_error *error);

/* A table of vectors: row i is the vector of id i. */
typedef struct fovea_nn_table {
  const void *data; /* NULL: there is none, and the other fields have their defaults */
  int64_t count;    /* rows; default 0 */
  fovea_type type;  /* default FOVEA_F32 */
  int64_t stride;   /* elements from row to row; default: dim */
} fovea_nn_table;

/* An embedding y = token * scale + token type + position. */
typedef struct fovea_nn_embedding {
  size_t struct_size;         /* set by fovea_nn_embedding_init() */
  int64_t dim;                /* at least 1 */
  fovea_nn_table tokens;      /* needed */
  fovea_nn_table token_types; /* BERT's; default: none */
  fovea_nn_table positions;   /* learned, or written by fovea_nn_sinusoids(); default: none */
  float scale;                /* of tokens; finite; default 1 */
} fovea_nn_embedding;

/* Sets these fields, tokens as `count` contiguous rows of f32, and the others to their defaults. Callers in C use
 * fovea_nn_embedding_init(). */
FOVEA_NN_API void fovea_nn_embedding_init_sized(fovea_nn_embedding *embedding, size_t struct_size, int64_t dim,
                                                int64_t count, const void *tokens);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_embedding_init(fovea_nn_embedding *embedding, int64_t dim, int64_t count,
                                           const void *tokens) {
  fovea_nn_embedding_init_sized(embedding, sizeof *embedding, dim, count, tokens);
}

/* Tokens to be embedded. Lists of ids are contiguous, `rows` numbers each. */
typedef struct fovea_nn_embedding_rows {
  size_t struct_size;         /* set by fovea_nn_embedding_rows_init() */
  int64_t rows;               /* at least 0 */
  void *y;                    /* (rows, dim), apart from tables and ids */
  fovea_type y_type;          /* default FOVEA_F32 */
  int64_t y_stride;           /* elements from row to row; default: dim */
  const void *ids;            /* of tokens */
  fovea_nn_id_type id_type;   /* of all lists of ids; default FOVEA_NN_INT32 */
  const void *token_type_ids; /* needed with token_types, and used only with them */

  /* Used with the table of positions, one of both. */
  const void *position_ids; /* NULL (default): first_position */
  int64_t first_position;   /* of row 0, each later row one further; default 0 */
} fovea_nn_embedding_rows;

/* Sets these fields, and the others to their defaults, as for `embedding`. Callers in C use
 * fovea_nn_embedding_rows_init(). */
FOVEA_NN_API void fovea_nn_embedding_rows_init_sized(fovea_nn_embedding_rows *rows, size_t struct_size,
                                                     const fovea_nn_embedding *embedding, int64_t row_count,
                                                     const void *ids, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_embedding_rows_init(fovea_nn_embedding_rows *rows, const fovea_nn_embedding *embedding,
                                                int64_t row_count, const void *ids, void *y) {
  fovea_nn_embedding_rows_init_sized(rows, sizeof *rows, embedding, row_count, ids, y);
}

/* Embeds the rows. Each step (scale, token type, position) rounds once, in f32, and the last result is rounded to
 * y's type. FOVEA_ERROR_ARGUMENT if an id is no row of its table; nothing has been written. */
FOVEA_NN_API fovea_status fovea_nn_embed(const fovea_nn_embedding *embedding, const fovea_nn_embedding_rows *rows,
                                         const fovea_execution *execution, fovea_error *error);

/* The bucket of a relative position, key less query, by T5 (Raffel et al., 2020): the distances from 0 up have one
 * bucket each, those up to max_distance share buckets that grow with the logarithm, and all others have the last.
 * If `bidirectional`, the upper half of the buckets is for keys after the query; else all keys after the query
 * have bucket 0. The number of buckets is from 2 (bidirectional: 4) to 1024; max_distance is more than the
 * distances with a bucket of their own, which are half of the buckets of a direction, and below 2^31. Returns -1
 * if not. */
FOVEA_NN_API int64_t fovea_nn_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance);

/* Writes the buckets of relative positions first, first + 1, ..., first + count - 1: what a bias needs that depends
 * on the distance only. As ids of FOVEA_NN_INT64 they take rows from a table of biases by fovea_nn_embed(). */
FOVEA_NN_API fovea_status fovea_nn_t5_buckets(int64_t first, int64_t count, int bidirectional, int64_t buckets,
                                              int64_t max_distance, int64_t *to, fovea_error *error);

/* Dropout: each number is zero by chance, and the others grow so that the mean stays. The choice depends on seed,
 * stream and the index of the element, (first_row + row) * dim + column, and on nothing else. */
typedef struct fovea_nn_dropout_rows {
  size_t struct_size;         /* set by fovea_nn_dropout_rows_init() */
  int64_t rows, dim;          /* at least 0 and 1 */
  const void *x;              /* (rows, dim) */
  void *y;                    /* (rows, dim); it may be x itself */
  fovea_type x_type, y_type;  /* default FOVEA_F32 */
  int64_t x_stride, y_stride; /* elements from row to row; default: dim */
  float p;                    /* the chance of a zero, from 0 to 1 (else FOVEA_ERROR_ARGUMENT); default 0 */
  uint64_t seed, stream;      /* any; a stream for each layer and step; default 0 */
  int64_t first_row;          /* what row 0 is in a larger batch; the last index must be below 2^62; default 0 */
} fovea_nn_dropout_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_dropout_rows_init(). */
FOVEA_NN_API void fovea_nn_dropout_rows_init_sized(fovea_nn_dropout_rows *rows, size_t struct_size,
                                                   int64_t row_count, int64_t dim, const void *x, void *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_dropout_rows_init(fovea_nn_dropout_rows *rows, int64_t row_count, int64_t dim,
                                              const void *x, void *y) {
  fovea_nn_dropout_rows_init_sized(rows, sizeof *rows, row_count, dim, x, y);
}

/* Writes x / (1 - p), or 0, by Philox4x32-10 (Salmon et al., 2011). */
FOVEA_NN_API fovea_status fovea_nn_dropout(const fovea_nn_dropout_rows *rows, const fovea_execution *execution,
                                           fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
