/* A sound through the encoder, once as a stream and once whole. */
#ifndef SPEECH_LISTEN_H
#define SPEECH_LISTEN_H

#include "model.h"
#include "wav.h"

struct heard {
  int64_t frames, chunks;
  double *seconds; /* that each chunk took, from its samples to its rows, in ascending order; the last is the end */
  double all;      /* their sum */
  double cpu;      /* CPU time of all threads meanwhile */
  float *rows;     /* (frames, MODEL_DIM) */
  size_t stream_bytes, scratch_bytes;
  bool equal; /* the whole sound at once has the same bits */
};

/* Streams `chunk` frames at a time. All memory that the stream uses is allocated before the first. */
bool listen(const struct model *model, const struct wav *wav, int64_t chunk, int threads, struct heard *heard,
            struct failure *failure);
void heard_free(struct heard *heard);

/* FNV-1a of the bits of the rows. */
uint64_t heard_digest(const struct heard *heard);

#endif
