/* What an example writes, whole or with a text that says why not. */
#ifndef FOVEA_EXAMPLES_OUTPUT_H
#define FOVEA_EXAMPLES_OUTPUT_H

#include <stdbool.h>

/* Writes what stdout still holds. If any of stdout could not be written, as on a full disk, prints one line on
 * stderr that begins with the program's name, and returns false. */
bool output_finish(const char *program);

/* Writes a file of that path. Returns NULL, or a text that says why not. */
typedef const char *output_writer(const void *what, const char *path);

/* Lets `write` write a file beside `path`, and gives it that name when it is whole: after a failure there is no
 * half of a file, and a file that was there has stayed. What is no file, as /dev/stdout, is written as it is.
 * Returns NULL, or a text that says why the file was not written. */
const char *output_replace(const char *path, output_writer *write, const void *what);

#endif
