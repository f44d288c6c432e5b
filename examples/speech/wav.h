/* Reads sound from a WAV file. */
#ifndef SPEECH_WAV_H
#define SPEECH_WAV_H

#include "../stories/failure.h"

#include <stdint.h>

struct wav {
  int64_t rate;   /* samples a second */
  int64_t count;  /* samples */
  float *samples; /* from -1 to below 1 */
};

/* Reads a RIFF WAVE file of 16-bit PCM; of several channels, the first. Whatever is not exactly that is refused. */
bool wav_read(struct wav *wav, const char *path, struct failure *failure);
void wav_free(struct wav *wav);

#endif
