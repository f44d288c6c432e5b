/* What macOS does in its own way. The rest is in platform_posix.c. */
#include "platform.h"

#if defined(__APPLE__)

#include "../../arch/features.h"
#include <sys/sysctl.h>
#include <sys/types.h>

/* A number that the kernel publishes; 0 if there is none of that name. */
static int published(const char *name) {
  int number = 0;
  size_t size = sizeof number;
  return sysctlbyname(name, &number, &size, NULL, 0) == 0 && size == sizeof number ? number : 0;
}

/* macOS has no affinity, so all CPUs count. */
int fovea_platform_cpus(void) {
  int cpus = published("hw.logicalcpu");
  return cpus > 0 ? cpus : 1;
}

uint64_t fovea_platform_arm_features(void) {
  uint64_t features = 0;
  if (published("hw.optional.arm.FEAT_FHM")) features |= FOVEA_CPU_NEON_FHM;
  if (published("hw.optional.arm.FEAT_DotProd")) features |= FOVEA_CPU_NEON_DOT;
  if (published("hw.optional.arm.FEAT_I8MM")) features |= FOVEA_CPU_NEON_I8MM;
  if (published("hw.optional.arm.FEAT_BF16")) features |= FOVEA_CPU_NEON_BF16;
  return features;
}

#endif
