#include "digits.h"

#include <stdio.h>
#include <string.h>

enum { COUNT_LIMIT = 1 << 20 };

/* A tensor of bytes, none above `most`. */
static bool take_bytes(const struct digits *digits, const char *name, int64_t each, unsigned char most,
                       const unsigned char **bytes, struct failure *failure) {
  const char *path = digits->file.path;
  const struct stored_tensor *tensor = safetensors_find(&digits->file, name);
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", path, name);
  const bool is_image =
      each > 1 && tensor->rank == 3 && tensor->shape[1] == IMAGE_SIDE && tensor->shape[2] == IMAGE_SIDE;
  if (strcmp(tensor->type, "U8") != 0 || tensor->shape[0] != digits->count ||
      !(is_image || (each == 1 && tensor->rank == 1)))
    return refuse(failure, "%s: %s has another type or shape than U8 (%d%s)", path, name, (int)digits->count,
                  each > 1 ? ", 8, 8" : "");
  *bytes = (const unsigned char *)digits->file.data + tensor->begin;
  for (int64_t i = 0; i < digits->count * each; i++)
    if ((*bytes)[i] > most)
      return refuse(failure, "%s: %s: number %lld is %d; %d is the largest", path, name, (long long)i, (*bytes)[i],
                    most);
  return true;
}

static bool take_all(struct digits *digits, struct failure *failure) {
  const struct stored_tensor *labels = safetensors_find(&digits->file, "labels");
  digits->count = labels && labels->rank > 0 ? labels->shape[0] : 0;
  if (digits->count < 1 || digits->count > COUNT_LIMIT)
    return refuse(failure, "%s: it has no labels, or more than %d", digits->file.path, COUNT_LIMIT);
  return take_bytes(digits, "labels", 1, DIGITS - 1, &digits->labels, failure) &&
         take_bytes(digits, "images", IMAGE_PIXELS, BRIGHTEST, &digits->images, failure);
}

bool digits_read(struct digits *digits, const char *path, struct failure *failure) {
  *digits = (struct digits){.count = 0};
  const bool read = safetensors_read(&digits->file, path, failure) && take_all(digits, failure);
  if (!read) digits_free(digits);
  return read;
}

void digits_free(struct digits *digits) {
  safetensors_free(&digits->file);
  *digits = (struct digits){.count = 0};
}

void digits_print_row(const unsigned char *image, int row) {
  static const char *const shades[] = {"  ", "\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"};
  for (int x = 0; x < IMAGE_SIDE; x++) fputs(shades[(image[row * IMAGE_SIDE + x] + 3) / 4], stdout);
}
