/* Encoders of streams: rows come in chunks, and each layer keeps what later rows see. */
#ifndef FOVEA_STREAM_H
#define FOVEA_STREAM_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Truncated self-attention over a stream: encoder layers whose rows see some frames before and after them, by a
 * window, by chunks (WeNet, Zipformer, Emformer's look-ahead) or by both, for frames that come a few at a time, as
 * in speech. The rows have the bits that the same layers (fovea_nn_block_run()) give over the whole utterance at
 * once with the same rules, however the frames are cut. Each frame is projected once in each layer; its keys and
 * values stay, at its position in the utterance, while a later row may see them. Chunks count from the first
 * frame.
 *
 * A row of a layer comes out with the last frame that it may see: with a window of `right` frames, row i of all
 * layers comes out with frame i + layers * right. With chunks the rows of a chunk come out together, each layer
 * chunks.right frames after the chunk's end. Memory follows from rules, chunk, layers and sizes, and not from the
 * utterance: with `left` and `right`, the most frames that a row sees before and after its own, each layer keeps
 * left + right + chunk keys and values, and right + chunk frames.
 *
 * Prepare it with fovea_nn_streaming_init(). */
typedef struct fovea_nn_streaming {
  size_t struct_size; /* set by fovea_nn_streaming_init() */
  int64_t layers;     /* at least 1 */

  /* `layers` pointers to encoder layers, all with the same dim. Attention has its key and value layers, no biases
   * of keys, and may have a rotary embedding. */
  const fovea_nn_block *const *blocks;

  /* Of all layers. Used are heads, kv_heads, qk_dim, v_dim, scale, softcap, sink, activation, normaliser and
   * modes, and the rules: window_left, window_right, causal and chunks. On each side something must end what a row
   * sees: the window, the chunks, or causal (else FOVEA_ERROR_ARGUMENT). batch is 1, q_len and kv_len are 0, and
   * all else has its defaults. */
  const fovea_problem *problem;
  int64_t chunk; /* the most frames that are computed at once, at least 1: more are cut. It changes no bit, and has
                  * nothing to do with the chunks of the rules */

  /* (layers, heads) numbers, as in fovea_tensors; needed with FOVEA_SINK_PER_HEAD, else NULL (default). */
  const float *sink;
} fovea_nn_streaming;

/* Sets these fields, and the others to their defaults. Callers in C use fovea_nn_streaming_init(). */
FOVEA_NN_API void fovea_nn_streaming_init_sized(fovea_nn_streaming *streaming, size_t struct_size, int64_t layers,
                                                const fovea_nn_block *const *blocks, const fovea_problem *problem,
                                                int64_t chunk);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_nn_streaming_init(fovea_nn_streaming *streaming, int64_t layers,
                                           const fovea_nn_block *const *blocks, const fovea_problem *problem,
                                           int64_t chunk) {
  fovea_nn_streaming_init_sized(streaming, sizeof *streaming, layers, blocks, problem, chunk);
}

/* One stream, in memory of the caller. Streams may run at the same time, and may share their layers; calls that
 * take the same stream may not run at the same time. */
typedef struct fovea_nn_stream fovea_nn_stream;

/* Sets *size to the bytes of a stream, at least 1. It checks sizes and rules, and all else that the size follows
 * from. If they are refused, it returns the error of fovea_nn_stream_create_in(), and *size is 0. `error` may be
 * NULL. */
FOVEA_NN_API fovea_status fovea_nn_stream_size(const fovea_nn_streaming *streaming, size_t *size,
                                               fovea_error *error);

/* Makes a stream at the beginning of an utterance, in memory of fovea_nn_stream_size() bytes or more at a multiple
 * of FOVEA_SCRATCH_ALIGNMENT. It holds nothing that must be freed, and may not be moved. Blocks, attention structs
 * and `streaming` are copied; their layers, norms, rotary embeddings, weights and sinks, and the name of the
 * instruction set, must live as long as the stream, and keep their contents. All of them are checked here. On
 * failure *stream is NULL. */
FOVEA_NN_API fovea_status fovea_nn_stream_create_in(const fovea_nn_streaming *streaming, void *memory, size_t size,
                                                    fovea_nn_stream **stream, fovea_error *error);

/* Takes the next `rows` frames (at least 0) of the utterance, x (rows, dim), and writes the rows whose frames are
 * all there to y, and their number to *written: fovea_nn_stream_rows(), which with a window alone is never more
 * than `rows`, and with chunks never more than `rows` + fovea_nn_stream_pending(). x and y are contiguous f32; y is
 * apart from x (without chunks it may also be x), from the stream and from all that the layers read, and may be
 * NULL if nothing is written.
 *
 * Needs scratch (fovea_nn_stream_scratch_size()), from `execution` or else allocated by its allocator. If
 * a call fails, *written is 0, and the stream is as before, unless computing has begun, as when a layer was changed
 * meanwhile: then push and finish return FOVEA_ERROR_ARGUMENT, whose field is "stream", until the stream is reset.
 * FOVEA_ERROR_ARGUMENT with the field "rows" if there are more frames than 2^48, or than the rotary embedding has
 * positions. */
FOVEA_NN_API fovea_status fovea_nn_stream_push(fovea_nn_stream *stream, int64_t rows, const float *x, float *y,
                                               int64_t *written, const fovea_execution *execution,
                                               fovea_error *error);

/* Ends the utterance: writes the fovea_nn_stream_pending() rows that have not come out, whose windows end with the
 * last frame, to y. The next frame begins a new utterance. Scratch and errors are as for a push. */
FOVEA_NN_API fovea_status fovea_nn_stream_finish(fovea_nn_stream *stream, float *y, int64_t *written,
                                                 const fovea_execution *execution, fovea_error *error);

/* Takes frames of several utterances at once, each in a stream of its own: the next rows[i] frames x[i] of
 * streams[i], whose rows go to y[i], and their number to written[i], as a push does; where ends[i] is 1 (NULL: none
 * is), the utterance ends with these frames, as by fovea_nn_stream_finish(). Streams may differ in everything, and
 * begin and end when they like. Each has the bits of calls of its own. They are shared by workers, one stream each,
 * so that `count` streams of one frame keep as many workers busy, which one stream does not.
 *
 * What a stream writes is apart from all that the others use, but for layers that they share, and no stream is
 * given twice. If a call is refused, no stream has changed. If one fails while it computes, the others have their
 * rows, its written[i] is 0, and it must be reset. Scratch is fovea_nn_streams_scratch_size() bytes, from
 * `execution` or else allocated by its allocator. */
FOVEA_NN_API fovea_status fovea_nn_streams_push(fovea_nn_stream *const *streams, int64_t count, const int64_t *rows,
                                                const float *const *x, float *const *y, const int *ends,
                                                int64_t *written, const fovea_execution *execution,
                                                fovea_error *error);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does; 0 without streams. It uses the
 * streams, so no other call may use them at the same time. */
FOVEA_NN_API fovea_status fovea_nn_streams_scratch_size(fovea_nn_stream *const *streams, int64_t count,
                                                        const fovea_execution *execution, size_t *size,
                                                        fovea_error *error);

/* Drops the utterance: the next frame begins a new one. NULL is allowed. */
FOVEA_NN_API void fovea_nn_stream_reset(fovea_nn_stream *stream);

/* Returns how many rows the push of the next `rows` frames will write; 0 for NULL and for what is refused. */
FOVEA_NN_API int64_t fovea_nn_stream_rows(const fovea_nn_stream *stream, int64_t rows);

/* Returns how many frames were taken whose rows have not come out; at most layers * right. 0 for NULL. */
FOVEA_NN_API int64_t fovea_nn_stream_pending(const fovea_nn_stream *stream);

/* Sets *size to the bytes of scratch, as fovea_nn_attention_scratch_size() does, the same for all calls of a
 * stream. It uses the stream, so no other call may use it at the same time. */
FOVEA_NN_API fovea_status fovea_nn_stream_scratch_size(fovea_nn_stream *stream, const fovea_execution *execution,
                                                       size_t *size, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
