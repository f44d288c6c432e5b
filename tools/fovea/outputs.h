/* Output files that appear whole or not at all: each is written under a temporary name beside its target, and only
 * when all of them are complete do they get their names. What stood at a target before stays until then. */
#ifndef FOVEA_TOOLS_OUTPUTS_H
#define FOVEA_TOOLS_OUTPUTS_H

#include "failure.h"
#include "npy.h"

typedef struct output_file {
  char *target;    /* NULL: not in use */
  char *temporary; /* NULL: the target is a device or pipe and written as it is */
  FILE *stream;
  bool committed;
} output_file;

/* Creates the temporary file; an output_file of all zero bytes goes in. */
bool output_open(output_file *output, const char *path, failure *why);

/* Writes the array and closes the file. */
bool output_write(output_file *output, npy_type type, int rank, const int64_t *shape, const void *data,
                  failure *why);

/* Gives all files their names. Those not in use are passed over. */
bool outputs_commit(output_file *outputs, int count, failure *why);

/* Removes what was not committed and frees. Call it in any case. */
void output_discard(output_file *output);

#endif
