/* The files that the command reads. All are opened here and remembered, since an output may not go to one of them.
 */
#ifndef FOVEA_TOOLS_INPUTS_H
#define FOVEA_TOOLS_INPUTS_H

#include "failure.h"
#include "npy.h"

/* Opens a file for reading bytes. NULL: it cannot be opened, and `why` says so. */
FILE *input_open(const char *path, failure *why);

/* Reads an .npy file whose elements have a type of the set, as npy_load_any() does. */
bool input_load(const char *path, unsigned types, npy_array *array, failure *why);

/* Whether the name stands for a file that was read, also by another name or a link. Devices and pipes are none. */
bool input_has(const char *path);

/* Forgets all files. */
void inputs_forget(void);

#endif
