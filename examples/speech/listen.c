#define _POSIX_C_SOURCE 200112L /* clock_gettime() */

#include "listen.h"

#include "../stories/digest.h"
#include "mel.h"

#include <fovea/stream.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A sound on its way. */
struct passage {
  const struct model *model;
  const struct wav *wav;
  struct mel mel;
  int64_t chunk;
  void *pieces[2]; /* memory of the stream and of scratch */
  fovea_nn_stream *stream;
  fovea_execution execution; /* with scratch */
  fovea_execution rows;      /* without */
  float *bands, *embedded;   /* (chunk, MEL_BANDS), (chunk, MODEL_DIM) */
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns `size` bytes, aligned as the library wants them, in a larger piece of memory that is to be freed. */
static void *allocate_aligned(size_t size, void **piece) {
  const size_t unit = FOVEA_SCRATCH_ALIGNMENT;
  *piece = malloc(size + unit);
  return *piece ? (char *)*piece + (unit - (uintptr_t)*piece % unit) : NULL;
}

static bool open_stream(struct passage *p, int threads, struct heard *heard, struct failure *failure) {
  fovea_nn_streaming streaming;
  fovea_error error;
  fovea_nn_streaming_init(&streaming, p->model->layers, p->model->blocks, &p->model->problem, p->chunk);
  if (fovea_nn_stream_size(&streaming, &heard->stream_bytes, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  void *memory = allocate_aligned(heard->stream_bytes, &p->pieces[0]);
  if (!memory) return refuse(failure, "no memory for a stream of %zu bytes", heard->stream_bytes);
  if (fovea_nn_stream_create_in(&streaming, memory, heard->stream_bytes, &p->stream, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  fovea_execution_init(&p->rows);
  p->rows.threads = threads;
  p->rows.isa = p->model->isa;
  p->execution = p->rows;
  if (fovea_nn_stream_scratch_size(p->stream, &p->rows, &heard->scratch_bytes, &error) != FOVEA_OK)
    return refuse(failure, "%s", error.text);
  p->execution.scratch_size = heard->scratch_bytes;
  p->execution.scratch = allocate_aligned(heard->scratch_bytes, &p->pieces[1]);
  return p->execution.scratch || refuse(failure, "no memory for %zu bytes of scratch", heard->scratch_bytes);
}

/* Frames first to first + count - 1, as soon as their samples are there. */
static bool push(const struct passage *p, int64_t first, int64_t count, float *to, int64_t *written,
                 struct failure *failure) {
  fovea_error error;
  for (int64_t i = 0; i < count; i++) mel_frame(&p->mel, p->wav->samples, first + i, p->bands + i * MEL_BANDS);
  if (!model_embed(p->model, count, p->bands, p->embedded, &p->rows, failure)) return false;
  return fovea_nn_stream_push(p->stream, count, p->embedded, to, written, &p->execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

static bool finish(const struct passage *p, float *to, int64_t *written, struct failure *failure) {
  fovea_error error;
  return fovea_nn_stream_finish(p->stream, to, written, &p->execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

static bool stream(const struct passage *p, struct heard *heard, struct failure *failure) {
  const clock_t start = clock();
  int64_t first = 0, out = 0, written;
  for (int64_t i = 0; i < heard->chunks; i++) {
    const int64_t left = heard->frames - first, count = left < p->chunk ? left : p->chunk;
    float *to = heard->rows + out * MODEL_DIM;
    const double begin = now();
    const bool done = count > 0 ? push(p, first, count, to, &written, failure) : finish(p, to, &written, failure);
    heard->seconds[i] = now() - begin;
    if (!done) return false;
    heard->all += heard->seconds[i];
    first += count;
    out += written;
  }
  heard->cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
  return out == heard->frames ||
         refuse(failure, "%lld rows came out of %lld frames", (long long)out, (long long)heard->frames);
}

static bool compare(const struct passage *p, struct heard *heard, struct failure *failure) {
  const size_t frames = (size_t)heard->frames;
  float *bands = malloc(frames * MEL_BANDS * sizeof *bands), *rows = malloc(frames * MODEL_DIM * sizeof *rows);
  bool done = (bands && rows) || refuse(failure, "no memory for %zu frames", frames);
  for (int64_t i = 0; i < heard->frames && done; i++) mel_frame(&p->mel, p->wav->samples, i, bands + i * MEL_BANDS);
  done = done && model_embed(p->model, heard->frames, bands, rows, &p->rows, failure) &&
         model_run_whole(p->model, heard->frames, rows, &p->rows, failure);
  if (done && rows) heard->equal = memcmp(rows, heard->rows, frames * MODEL_DIM * sizeof *rows) == 0;
  free(bands);
  free(rows);
  return done;
}

static int ascending(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static bool allocate(struct passage *p, struct heard *heard, struct failure *failure) {
  const size_t chunk = (size_t)p->chunk;
  heard->frames = mel_frames(&p->mel, p->wav->count);
  heard->chunks = (heard->frames + p->chunk - 1) / p->chunk + 1;
  if (heard->frames == 0) return refuse(failure, "the sound is shorter than one frame, 25 ms");
  heard->seconds = malloc((size_t)heard->chunks * sizeof(double));
  heard->rows = malloc((size_t)heard->frames * MODEL_DIM * sizeof(float));
  p->bands = malloc(chunk * MEL_BANDS * sizeof(float));
  p->embedded = malloc(chunk * MODEL_DIM * sizeof(float));
  return (heard->seconds && heard->rows && p->bands && p->embedded) || refuse(failure, "no memory for the frames");
}

bool listen(const struct model *model, const struct wav *wav, int64_t chunk, int threads, struct heard *heard,
            struct failure *failure) {
  struct passage p = {.model = model, .wav = wav, .chunk = chunk};
  *heard = (struct heard){0};
  const bool done = mel_create(&p.mel, wav->rate, failure) && allocate(&p, heard, failure) &&
                    open_stream(&p, threads, heard, failure) && stream(&p, heard, failure) &&
                    compare(&p, heard, failure);
  if (done) qsort(heard->seconds, (size_t)heard->chunks, sizeof(double), ascending);
  mel_free(&p.mel);
  free(p.pieces[0]);
  free(p.pieces[1]);
  free(p.bands);
  free(p.embedded);
  if (!done) heard_free(heard);
  return done;
}

void heard_free(struct heard *heard) {
  free(heard->seconds);
  free(heard->rows);
  *heard = (struct heard){0};
}

uint64_t heard_digest(const struct heard *heard) {
  return digest_numbers(digest_begin, heard->rows, heard->frames * MODEL_DIM);
}
