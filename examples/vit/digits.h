/* Images of handwritten digits, with what they show. */
#ifndef VIT_DIGITS_H
#define VIT_DIGITS_H

#include "model.h"

enum { BRIGHTEST = 16 };

struct digits {
  struct safetensors file;
  int64_t count;
  const unsigned char *images; /* (count, IMAGE_PIXELS), row by row: 0 to BRIGHTEST */
  const unsigned char *labels; /* (count): 0 to 9 */
};

/* Reads a file with the tensors `images` (count, 8, 8) and `labels` (count), both U8. `path` is kept. */
bool digits_read(struct digits *digits, const char *path, struct failure *failure);
void digits_free(struct digits *digits);

/* Writes a row of an image for a terminal, each pixel two columns wide, without a line end. */
void digits_print_row(const unsigned char *image, int row);

#endif
