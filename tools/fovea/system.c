#define _XOPEN_SOURCE 700 /* realpath, stat, getpid, strdup */

#include "system.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static char *name_with_process(const char *path, long process) {
  size_t size = strlen(path) + 32;
  char *name = malloc(size);
  if (name) snprintf(name, size, "%s.%ld.partial", path, process);
  return name;
}

#ifdef _WIN32

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <windows.h>

system_file system_file_kind(const char *path) {
  struct _stat64 status;
  if (_stat64(path, &status) != 0) return SYSTEM_FILE_NONE;
  if (status.st_mode & _S_IFDIR) return SYSTEM_FILE_DIRECTORY;
  return status.st_mode & _S_IFREG ? SYSTEM_FILE_REGULAR : SYSTEM_FILE_OTHER;
}

char *system_resolve(const char *path) {
  return _strdup(path);
}

char *system_identity(const char *path) {
  char *full = _fullpath(NULL, path, 0);
  return full ? _strlwr(full) : NULL;
}

char *system_temporary_name(const char *path) {
  return name_with_process(path, (long)GetCurrentProcessId());
}

/* Not every C library here knows the mode "x" of fopen(). */
FILE *system_create(const char *path) {
  int file = _open(path, _O_CREAT | _O_EXCL | _O_WRONLY | _O_BINARY, _S_IREAD | _S_IWRITE);
  return file < 0 ? NULL : _fdopen(file, "wb");
}

double system_seconds(void) {
  LARGE_INTEGER count, rate;
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&rate);
  return (double)count.QuadPart / (double)rate.QuadPart;
}

/* rename() does not replace a file here. */
int system_rename(const char *from, const char *to) {
  if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
  errno = EACCES;
  return -1;
}

#else

#include <unistd.h>

system_file system_file_kind(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return SYSTEM_FILE_NONE;
  if (S_ISDIR(status.st_mode)) return SYSTEM_FILE_DIRECTORY;
  return S_ISREG(status.st_mode) ? SYSTEM_FILE_REGULAR : SYSTEM_FILE_OTHER;
}

char *system_resolve(const char *path) {
  char *resolved = realpath(path, NULL);
  return resolved ? resolved : strdup(path);
}

char *system_identity(const char *path) {
  struct stat status;
  const size_t size = 64;
  char *text = stat(path, &status) == 0 ? malloc(size) : NULL;
  if (text) snprintf(text, size, "%llu %llu", (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
  return text;
}

char *system_temporary_name(const char *path) {
  return name_with_process(path, (long)getpid());
}

FILE *system_create(const char *path) {
  return fopen(path, "wbx");
}

int system_rename(const char *from, const char *to) {
  return rename(from, to);
}

double system_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
