#include "mel.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
static const double lowest = 20, highest = 8000; /* Hz */
static const double least_energy = 1e-8;         /* about the energy of silence in 16 bits */

static double mel_of(double hertz) {
  return 2595 * log10(1 + hertz / 700);
}

static double hertz_of(double mel) {
  return 700 * (pow(10, mel / 2595) - 1);
}

static void fill(struct mel *mel) {
  const double top = highest < (double)mel->rate / 2 ? highest : (double)mel->rate / 2;
  const double first = mel_of(lowest), step = (mel_of(top) - first) / (MEL_BANDS + 1);
  for (int i = 0; i < MEL_BANDS + 2; i++)
    mel->edges[i] = hertz_of(first + step * i) * (double)mel->size / (double)mel->rate;
  for (int64_t i = 0; i < mel->window; i++)
    mel->hann[i] = 0.5 - 0.5 * cos(2 * pi * (double)i / (double)mel->window);
  for (int64_t i = 0; i < mel->size / 2; i++) {
    mel->cosines[i] = cos(2 * pi * (double)i / (double)mel->size);
    mel->sines[i] = sin(2 * pi * (double)i / (double)mel->size);
  }
}

bool mel_create(struct mel *mel, int64_t rate, struct failure *failure) {
  *mel = (struct mel){.rate = rate, .window = rate / 40, .size = 512};
  while (mel->size < mel->window) mel->size *= 2;
  const size_t size = (size_t)mel->size;
  mel->hann = malloc((size_t)mel->window * sizeof(double));
  mel->cosines = malloc(size / 2 * sizeof(double));
  mel->sines = malloc(size / 2 * sizeof(double));
  mel->re = malloc(size * sizeof(double));
  mel->im = malloc(size * sizeof(double));
  if (!mel->hann || !mel->cosines || !mel->sines || !mel->re || !mel->im) {
    mel_free(mel);
    return refuse(failure, "no memory for a Fourier transform of %lld samples", (long long)size);
  }
  fill(mel);
  return true;
}

void mel_free(struct mel *mel) {
  free(mel->hann);
  free(mel->cosines);
  free(mel->sines);
  free(mel->re);
  free(mel->im);
  *mel = (struct mel){0};
}

int64_t mel_frames(const struct mel *mel, int64_t samples) {
  if (samples < mel->window) return 0;
  return ((samples - mel->window + 1) * MEL_FRAMES_A_SECOND + mel->rate - 1) / mel->rate;
}

/* Exchanges number i with the number whose index has the bits of i in reverse order. */
static void reverse_bits(const struct mel *mel) {
  for (int64_t i = 1, j = 0; i < mel->size; i++) {
    int64_t bit = mel->size / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    const double re = mel->re[i], im = mel->im[i];
    mel->re[i] = mel->re[j];
    mel->im[i] = mel->im[j];
    mel->re[j] = re;
    mel->im[j] = im;
  }
}

/* Cooley and Tukey, 1965: in place, radix 2. */
static void transform(const struct mel *mel) {
  reverse_bits(mel);
  for (int64_t half = 1; half < mel->size; half *= 2) {
    const int64_t step = mel->size / (2 * half);
    for (int64_t first = 0; first < mel->size; first += 2 * half) {
      for (int64_t i = 0; i < half; i++) {
        double *re = mel->re + first + i, *im = mel->im + first + i;
        const double c = mel->cosines[i * step], s = mel->sines[i * step];
        const double right_re = re[half] * c + im[half] * s, right_im = im[half] * c - re[half] * s;
        re[half] = re[0] - right_re;
        im[half] = im[0] - right_im;
        re[0] += right_re;
        im[0] += right_im;
      }
    }
  }
}

/* The energy of a band: lines of the spectrum, weighted by a triangle from edge to edge. */
static double energy_of(const struct mel *mel, int band) {
  const double *edge = mel->edges + band;
  double sum = 0;
  for (int64_t i = (int64_t)ceil(edge[0]); (double)i < edge[2] && i <= mel->size / 2; i++) {
    const double rise = ((double)i - edge[0]) / (edge[1] - edge[0]),
                 fall = (edge[2] - (double)i) / (edge[2] - edge[1]);
    sum += (rise < fall ? rise : fall) * (mel->re[i] * mel->re[i] + mel->im[i] * mel->im[i]);
  }
  return sum / (double)mel->window;
}

void mel_frame(const struct mel *mel, const float *samples, int64_t frame, float *to) {
  const float *from = samples + frame * mel->rate / MEL_FRAMES_A_SECOND;
  for (int64_t i = 0; i < mel->size; i++) {
    mel->re[i] = i < mel->window ? (double)from[i] * mel->hann[i] : 0;
    mel->im[i] = 0;
  }
  transform(mel);
  for (int band = 0; band < MEL_BANDS; band++) to[band] = (float)log(energy_of(mel, band) + least_energy);
}
