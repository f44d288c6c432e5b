/* The public header compiles alone, as C99 (ctest) and as C++ (`./run test`). Its version is the library's. */
#include <fovea/fovea.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  return strcmp(version, fovea_version()) == 0 ? 0 : 1;
}
