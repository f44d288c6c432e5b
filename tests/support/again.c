#define _GNU_SOURCE
#include "again.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32

#include <process.h>
#include <windows.h>

/* On this system a program gets its arguments as one line, in which an empty argument must be quoted. */
int run_again(const char *isa, const char *first, const char *second, const char *third) {
  char path[MAX_PATH], quoted[3][128], before[64];
  const char *const arguments[] = {first, second, third}, *const set = getenv("FOVEA_ISA");
  snprintf(before, sizeof before, "%s", set != NULL ? set : "");
  for (int i = 0; i < 3; i++) snprintf(quoted[i], sizeof quoted[i], "\"%s\"", arguments[i]);
  if (GetModuleFileNameA(NULL, path, sizeof path) == 0) return AGAIN_IMPOSSIBLE;
  fflush(NULL);
  _putenv_s("FOVEA_ISA", isa);
  const intptr_t status = _spawnl(_P_WAIT, path, "again", quoted[0], quoted[1], quoted[2], (char *)NULL);
  _putenv_s("FOVEA_ISA", before);
  return (int)status;
}

#else

#include <sys/wait.h>
#include <unistd.h>

int run_again(const char *isa, const char *first, const char *second, const char *third) {
  fflush(NULL);
  const pid_t process = fork();
  if (process == 0) {
    setenv("FOVEA_ISA", isa, 1);
    execl("/proc/self/exe", "again", first, second, third, (char *)NULL);
    _exit(AGAIN_IMPOSSIBLE);
  }
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) != process || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

#endif
