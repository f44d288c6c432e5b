/* Output files that appear whole or not at all: each is written under a temporary name beside its target. The files
 * get their names only after all are complete. Until then older files stay at the targets. */
#ifndef FOVEA_TOOLS_OUTPUTS_H
#define FOVEA_TOOLS_OUTPUTS_H

#include "failure.h"
#include "npy.h"

typedef struct output_file {
  char *target;    /* NULL: not in use */
  char *temporary; /* NULL: the target is a device or pipe and written directly */
  FILE *stream;
  bool committed;
} output_file;

/* Creates the temporary file. Refuses a target that is a file that the command has read, so call it after the
 * inputs were read. `output` must be all zero bytes before. */
bool output_open(output_file *output, const char *path, failure *why);

/* Closes the file after the caller wrote to the stream; `written`: with success, else errno says why not. */
bool output_close(output_file *output, bool written, failure *why);

/* Writes the array and closes the file. */
bool output_write(output_file *output, npy_type type, int rank, const int64_t *shape, const void *data,
                  failure *why);

/* Gives all files their names. Skips files that are not in use. */
bool outputs_commit(output_file *outputs, int count, failure *why);

/* Removes files that were not committed, and frees. Call it in any case. */
void output_discard(output_file *output);

#endif
