/* What the command asks of the operating system beyond standard C. Its only file that does. */
#ifndef FOVEA_TOOLS_SYSTEM_H
#define FOVEA_TOOLS_SYSTEM_H

#include <stdio.h>

typedef enum system_file {
  SYSTEM_FILE_NONE, /* or one that cannot be looked at */
  SYSTEM_FILE_REGULAR,
  SYSTEM_FILE_DIRECTORY,
  SYSTEM_FILE_OTHER /* a device, a pipe */
} system_file;

system_file system_file_kind(const char *path);

/* The file that a name stands for, links followed where the system can; free() it. NULL: out of memory. */
char *system_resolve(const char *path);

/* A name beside `path` that no other process uses; free() it. NULL: out of memory. */
char *system_temporary_name(const char *path);

/* Opens a file for writing bytes that must not be there yet. NULL with errno. */
FILE *system_create(const char *path);

/* Gives a file another name, and takes that from a file that has it. 0, or -1 with errno. */
int system_rename(const char *from, const char *to);

#endif
