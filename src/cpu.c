/* CPU detection. This file must be compiled for the oldest CPU that the library runs on. */
#include "cpu.h"

#include "platform.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/* What the operating system saves at a context switch. Only valid where OSXSAVE is set, and volatile so that it is
 * not moved in front of that check. */
static uint64_t saved_registers(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

#ifndef __APPLE__
static int is_amd(void) {
  uint32_t eax, name[3];
  return __get_cpuid(0, &eax, &name[0], &name[2], &name[1]) && memcmp(name, "AuthenticAMD", sizeof name) == 0;
}
#endif

uint64_t fovea_cpu_features(void) {
  enum { OSXSAVE = 1 << 27, LEAF1_FMA = 1 << 12, LEAF1_F16C = 1 << 29 };
  const uint64_t ymm_state = 0x6, zmm_state = 0xe6;
  const uint32_t avx512_f_dq_bw_vl = UINT32_C(1) << 16 | UINT32_C(1) << 17 | UINT32_C(1) << 30 | UINT32_C(1) << 31;
  uint32_t eax, ebx, ecx, edx, leaf1_ecx;
  uint64_t features = 0;
  if (!__get_cpuid(1, &eax, &ebx, &leaf1_ecx, &edx) || !(leaf1_ecx & OSXSAVE)) return 0;
  uint64_t saved = saved_registers();
  if ((saved & ymm_state) != ymm_state || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return 0;
  if (ebx & 1u << 5) features |= FOVEA_CPU_AVX2;
  if (leaf1_ecx & LEAF1_FMA) features |= FOVEA_CPU_FMA;
  if (leaf1_ecx & LEAF1_F16C) features |= FOVEA_CPU_F16C;
#ifndef __APPLE__ /* macOS turns the ZMM state on lazily and up to 12.1 corrupted mask registers */
  if ((saved & zmm_state) == zmm_state && (ebx & avx512_f_dq_bw_vl) == avx512_f_dq_bw_vl) {
    features |= FOVEA_CPU_AVX512;
    uint32_t avx512_bf16 = 1u << 5;
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & avx512_bf16)) features |= FOVEA_CPU_AVX512_BF16;
    if (is_amd()) features |= FOVEA_CPU_FAST_BF16;
  }
#endif
  return features;
}

void fovea_cpu_name(char name[FOVEA_CPU_NAME_SIZE]) {
  uint32_t text[12];
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t *r = text + 4 * i;
    if (!__get_cpuid(0x80000002u + i, r, r + 1, r + 2, r + 3)) {
      strcpy(name, "x86");
      return;
    }
  }
  memcpy(name, text, sizeof text);
  name[sizeof text] = '\0';
}

#else

uint64_t fovea_cpu_features(void) {
#if defined(__aarch64__)
  return FOVEA_CPU_NEON | fovea_platform_arm_features(); /* NEON is part of the base architecture */
#else
  return 0;
#endif
}

void fovea_cpu_name(char name[FOVEA_CPU_NAME_SIZE]) {
#if defined(__aarch64__)
  strcpy(name, "AArch64");
#elif defined(__riscv)
  strcpy(name, "RISC-V");
#elif defined(__arm__)
  strcpy(name, "ARM");
#else
  strcpy(name, "unknown");
#endif
}

#endif
