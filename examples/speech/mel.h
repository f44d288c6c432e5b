/* Sound as frames: the logarithms of its energy in bands of the mel scale, 100 frames a second. */
#ifndef SPEECH_MEL_H
#define SPEECH_MEL_H

#include "../stories/failure.h"

#include <stdint.h>

enum { MEL_BANDS = 80, MEL_FRAMES_A_SECOND = 100 };

struct mel {
  int64_t rate, window;        /* samples a second; samples of a frame: 25 ms */
  int64_t size;                /* of the Fourier transform, a power of two */
  double *hann;                /* (window) */
  double *cosines, *sines;     /* (size / 2): of a turn */
  double *re, *im;             /* (size) */
  double edges[MEL_BANDS + 2]; /* of the bands, in lines of the spectrum */
};

bool mel_create(struct mel *mel, int64_t rate, struct failure *failure);
void mel_free(struct mel *mel);

/* How many frames fit into so many samples. */
int64_t mel_frames(const struct mel *mel, int64_t samples);

/* Writes frame `frame` of the sound, MEL_BANDS numbers. It begins at sample frame * rate / 100, rounded down. */
void mel_frame(const struct mel *mel, const float *samples, int64_t frame, float *to);

#endif
