/* The command's calls to the operating system beyond standard C. No other file of the command makes any. */
#ifndef FOVEA_TOOLS_SYSTEM_H
#define FOVEA_TOOLS_SYSTEM_H

#include <stdio.h>

typedef enum system_file {
  SYSTEM_FILE_NONE, /* or a file that cannot be examined */
  SYSTEM_FILE_REGULAR,
  SYSTEM_FILE_DIRECTORY,
  SYSTEM_FILE_OTHER /* a device, a pipe */
} system_file;

system_file system_file_kind(const char *path);

/* The file that a name stands for, with links followed if the system can; free() it. NULL: out of memory. */
char *system_resolve(const char *path);

/* A text that differs for different files, and is the same for all names of one and links to it; free() it. On
 * Windows hard links count as different files. NULL: there is no such file, or out of memory. */
char *system_identity(const char *path);

/* A name beside `path` that no other process uses; free() it. NULL: out of memory. */
char *system_temporary_name(const char *path);

/* Creates a file for writing bytes; it must not exist yet. NULL with errno. */
FILE *system_create(const char *path);

/* Renames a file, and replaces a file that has the new name. 0, or -1 with errno. */
int system_rename(const char *from, const char *to);

/* Seconds since some moment. */
double system_seconds(void);

#endif
