/* POSIX systems that have no file of their own. */
#include "platform.h"

#if !defined(__linux__) && !defined(_WIN32) && !defined(__APPLE__)

#include <unistd.h>

int fovea_platform_cpus(void) {
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}

int fovea_platform_read_text(const char *path, char *text, size_t size) {
  (void)path, (void)text, (void)size;
  return 0;
}

long fovea_platform_process(void) {
  return (long)getpid();
}

uint64_t fovea_platform_arm_features(void) {
  return 0;
}

#endif
