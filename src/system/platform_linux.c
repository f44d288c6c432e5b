#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
/* What Linux does in its own way. The rest is in platform_posix.c. */
#include "platform.h"

#if defined(__linux__)

#include "../../arch/features.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

int fovea_platform_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  long cpus = sysconf(_SC_NPROCESSORS_ONLN); /* there are more CPUs than the set has room for */
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}

int fovea_platform_read_text(const char *path, char *text, size_t size) {
  int file;
  ssize_t length;
  do file = open(path, O_RDONLY | O_CLOEXEC);
  while (file < 0 && errno == EINTR);
  if (file < 0) return 0;
  do length = read(file, text, size - 1);
  while (length < 0 && errno == EINTR);
  close(file);
  if (length < 0) return 0;
  text[length] = '\0';
  return 1;
}

#ifdef SYS_futex /* not on 32-bit systems with 64-bit time alone */
void fovea_platform_wait(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void fovea_platform_wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
#endif

#if defined(__aarch64__)

#include <sys/auxv.h>

uint64_t fovea_platform_arm_features(void) {
  const unsigned long dot = 1ul << 20, fhm = 1ul << 23;   /* HWCAP_ASIMDDP, HWCAP_ASIMDFHM */
  const unsigned long i8mm = 1ul << 13, bf16 = 1ul << 14; /* HWCAP2_I8MM, HWCAP2_BF16 */
  uint64_t features = 0;
  if (getauxval(AT_HWCAP) & dot) features |= FOVEA_CPU_NEON_DOT;
  if (getauxval(AT_HWCAP) & fhm) features |= FOVEA_CPU_NEON_FHM;
  if (getauxval(AT_HWCAP2) & i8mm) features |= FOVEA_CPU_NEON_I8MM;
  if (getauxval(AT_HWCAP2) & bf16) features |= FOVEA_CPU_NEON_BF16;
  return features;
}

#endif
#endif

#if defined(__linux__) && defined(__x86_64__)
int fovea_platform_permit_amx(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#endif
