/* Files of `fovea cache`. */
#ifndef FOVEA_TOOLS_CACHE_FILES_H
#define FOVEA_TOOLS_CACHE_FILES_H

#include "cache_codes.h"
#include "npy.h"
#include "outputs.h"

/* Reads exactly `size` bytes of a file of that many. */
bool raw_read(const char *path, char *bytes, int64_t size, failure *why);

/* Reads the scales, or zeros, of a measured tensor. */
bool scales_read(const char *path, const coded_tensor *tensor, char *scales, failure *why);

/* Write into open outputs, which the caller commits. */
bool raw_write(output_file *output, const char *bytes, int64_t size, failure *why);
bool scales_write(output_file *output, const coded_tensor *tensor, const char *scales, failure *why);

#endif
