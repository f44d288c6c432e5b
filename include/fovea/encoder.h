/* Stacks of layers: encoders, decoders, encoder-decoders. */
#ifndef FOVEA_ENCODER_H
#define FOVEA_ENCODER_H

#include <fovea/embedding.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stack of layers with one width: an embedding, the layers, a last norm. It is an encoder (BERT, ViT), a model of
 * a language whose layers are causal and have caches, or the decoder of an encoder-decoder, whose layers have
 * cross-attention. Prepare it with fovea_nn_encoder_init(). */
typedef struct fovea_nn_encoder {
  size_t struct_size;           /* set by fovea_nn_encoder_init() */
  const fovea_nn_block *blocks; /* the layers: all with cross-attention, or none */
  int64_t count;                /* how many; at least 1 */
  size_t block_size; /* bytes from one block to the next; default sizeof(fovea_nn_block). They may be parts of
                        larger structs */
  const fovea_nn_embedding *embedding; /* NULL (default): rows are given, not ids */
  const fovea_nn_norm *embedding_norm; /* of the embedded or given rows, as BERT has it; NULL (default): none */
  const fovea_nn_norm *final_norm;     /* NULL (default): none */
} fovea_nn_encoder;

/* Sets these fields, and the others to NULL. Callers in C use fovea_nn_encoder_init(). */
FOVEA_NN_API void fovea_nn_encoder_init_sized(fovea_nn_encoder *encoder, size_t struct_size,
                                              const fovea_nn_block *blocks, size_t block_size, int64_t count);

/* Passes the sizes of the structs that this program was compiled with. */
static inline void fovea_nn_encoder_init(fovea_nn_encoder *encoder, const fovea_nn_block *blocks, int64_t count) {
  fovea_nn_encoder_init_sized(encoder, sizeof *encoder, blocks, sizeof *blocks, count);
}

/* The rows that go through a stack: ids, or x instead. They lie as fovea_nn_attention_tensors has them: as many as
 * the problem of `self` says, packed or not, `rows_first` or not. Lists of ids have a number for each row. */
typedef struct fovea_nn_encoder_rows {
  size_t struct_size; /* set by fovea_nn_encoder_rows_init() */

  /* What all layers attend over, as fovea_nn_block_run() takes it. With caches, layer i uses layer `layer` + i of
   * the segments. `cross` is for layers with cross-attention, else NULL (default). If its cache is segmented, the
   * caches hold the keys and values of the memory already (fovea_nn_encoder_decoder_prepare()), and the key and
   * value layers of cross-attention are not used. */
  const fovea_nn_attending *self, *cross;

  const void *ids;            /* of tokens; NULL: x */
  fovea_nn_id_type id_type;   /* of all lists of ids; default FOVEA_NN_INT32 */
  const void *token_type_ids; /* as in fovea_nn_embedding_rows */

  /* Rows of the embedding's table of positions. NULL (default): row i of sequence b is at first_position + i, or
   * first_positions[b] + i, of the tensors of `self`, which may have them for this alone. Rows of no sequence, of
   * a packed batch or beyond q_lens, are at 0. */
  const void *position_ids;

  const float *x; /* (rows, dim), contiguous, with positions if they are to have any; NULL (default): ids */
  float *y;       /* (rows, dim), contiguous, apart from all else, or x itself */

  /* Elements from the scores of a layer to the scores of the next, if the tensors of `self` (`cross`) have scores
   * and there is more than one layer; else 0 (default). The scores of all layers, of `self` and of `cross`, lie
   * apart. Further outputs (lse, max_logits, top.keys, entropy, column_sums) need a stack of one layer: run the
   * layers by fovea_nn_block_run() to have them for each layer. */
  int64_t self_score_layer, cross_score_layer;
} fovea_nn_encoder_rows;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_encoder_rows_init(). */
FOVEA_NN_API void fovea_nn_encoder_rows_init_sized(fovea_nn_encoder_rows *rows, size_t struct_size,
                                                   const fovea_nn_attending *self, const void *ids, float *y);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_encoder_rows_init(fovea_nn_encoder_rows *rows, const fovea_nn_attending *self,
                                              const void *ids, float *y) {
  fovea_nn_encoder_rows_init_sized(rows, sizeof *rows, self, ids, y);
}

/* Computes y, with the bits of fovea_nn_embed(), fovea_nn_norm_run() and fovea_nn_block_run() one after the other,
 * with f32 between them. A call that fails has written neither y nor scores nor a cache. An error of layer i begins
 * with "blocks[i]", and goes on as an error of fovea_nn_block_run() for this layer: "blocks[3].self.key.in is 23;
 * ...".
 *
 * Needs scratch, from `execution` or else allocated once by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_run(const fovea_nn_encoder *encoder, const fovea_nn_encoder_rows *rows,
                                               const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_encoder_scratch_size(const fovea_nn_encoder *encoder,
                                                        const fovea_nn_encoder_rows *rows,
                                                        const fovea_execution *execution, size_t *size,
                                                        fovea_error *error);

/* A transformer that reads one sequence and writes another (Vaswani et al., 2017). The decoder's layers have
 * cross-attention. Prepare it with fovea_nn_encoder_decoder_init(). */
typedef struct fovea_nn_encoder_decoder {
  size_t struct_size;                        /* set by fovea_nn_encoder_decoder_init() */
  const fovea_nn_encoder *encoder, *decoder; /* the decoder's layers have `cross`, the encoder's have not */
  const fovea_nn_linear *output;             /* makes logits of the decoder's rows; NULL (default): none */
} fovea_nn_encoder_decoder;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_encoder_decoder_init(). */
FOVEA_NN_API void fovea_nn_encoder_decoder_init_sized(fovea_nn_encoder_decoder *model, size_t struct_size,
                                                      const fovea_nn_encoder *encoder,
                                                      const fovea_nn_encoder *decoder);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_encoder_decoder_init(fovea_nn_encoder_decoder *model, const fovea_nn_encoder *encoder,
                                                 const fovea_nn_encoder *decoder) {
  fovea_nn_encoder_decoder_init_sized(model, sizeof *model, encoder, decoder);
}

/* Computes the target's rows: y is (rows, dim), or (rows, output->out) with `output`.
 *
 * With a source, the encoder runs first, and its y, the memory, is what the target's cross-attention attends over:
 * `memory` of the tensors of `cross` is NULL, and its cache is not segmented. Without one (NULL) the encoder is
 * not used: the target names its memory, or its caches hold the memory. So a step of decoding is a call with one
 * target row of each sequence, where `self` and `cross` both have segmented caches; steps have the bits of all
 * positions at once with a causal `self`.
 *
 * Fails as fovea_nn_encoder_run() does; the source's y may have been written if the target fails. An error of a
 * stack begins with "encoder" or "decoder", an error of its rows with "source" or "target":
 * "decoder.blocks[3].cross.key.in is 23; ...", "target.ids[2] is 11; ...". Needs scratch, from `execution` or else
 * allocated once by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_run(const fovea_nn_encoder_decoder *model,
                                                       const fovea_nn_encoder_rows *source,
                                                       const fovea_nn_encoder_rows *target,
                                                       const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_scratch_size(const fovea_nn_encoder_decoder *model,
                                                                const fovea_nn_encoder_rows *source,
                                                                const fovea_nn_encoder_rows *target,
                                                                const fovea_execution *execution, size_t *size,
                                                                fovea_error *error);

/* Projects a memory once for all steps: its keys and values of each of the decoder's layers go to positions 0, 1,
 * ... of the caches of `cross`, rotated if that layer has a rotary embedding. Layer i goes to layer `layer` + i.
 *
 * Of the problem it uses batch, kv_heads, kv_len, qk_dim, v_dim, and kv_lens, the rows of each sequence, or
 * instead cu_seqlens_kv, if the memory is packed; of the tensors memory, memory_values, rows_first and cache.
 * Other fields are for the attention itself. If segments are refused, some layers may have been written.
 *
 * Needs scratch, from `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_prepare(const fovea_nn_encoder_decoder *model,
                                                           const fovea_nn_attending *cross,
                                                           const fovea_execution *execution, fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does. */
FOVEA_NN_API fovea_status fovea_nn_encoder_decoder_prepare_scratch_size(const fovea_nn_encoder_decoder *model,
                                                                        const fovea_nn_attending *cross,
                                                                        const fovea_execution *execution,
                                                                        size_t *size, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
