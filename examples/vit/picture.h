/* Draws a digit beside what the class token takes from its patches, as a PNG. */
#ifndef VIT_PICTURE_H
#define VIT_PICTURE_H

#include "model.h"

struct picture {
  const unsigned char *image; /* IMAGE_PIXELS */
  const char *title;
  const float *last_layer, *rollout; /* PATCHES numbers each, which add up to 1 */
};

/* Returns NULL, or a text that says why the file was not written. */
const char *picture_draw(const struct picture *picture, const char *path);

#endif
