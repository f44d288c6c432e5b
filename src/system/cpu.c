/* CPU detection. This file must be compiled for the oldest CPU that the library runs on. */
#include "cpu.h"

#include "platform.h"

#include <string.h>

static const uint32_t leaf1_osxsave = UINT32_C(1) << 27;

static int has_all(uint64_t bits, uint64_t wanted) {
  return (bits & wanted) == wanted;
}

uint64_t fovea_cpu_x86_features(const fovea_x86_words *words) {
  const uint32_t leaf1_fma = UINT32_C(1) << 12, leaf1_f16c = UINT32_C(1) << 29, leaf7_avx2 = UINT32_C(1) << 5;
  const uint32_t leaf7_1_avx_vnni = UINT32_C(1) << 4;
  const uint64_t ymm_state = 0x6;
  uint64_t features = 0;
  if (!has_all(words->leaf1_ecx, leaf1_osxsave) || !has_all(words->saved, ymm_state)) return 0;
  if (words->leaf7_ebx & leaf7_avx2) features |= FOVEA_CPU_AVX2;
  if (words->leaf7_1_eax & leaf7_1_avx_vnni) features |= FOVEA_CPU_AVX_VNNI;
  if (words->leaf1_ecx & leaf1_fma) features |= FOVEA_CPU_FMA;
  if (words->leaf1_ecx & leaf1_f16c) features |= FOVEA_CPU_F16C;
  int amd = memcmp(words->vendor, "AuthenticAMD", sizeof words->vendor) == 0;
  if (amd && features & FOVEA_CPU_AVX2) features |= FOVEA_CPU_READS_ROWS;
  int intel = memcmp(words->vendor, "GenuineIntel", sizeof words->vendor) == 0;
  if (intel && features & FOVEA_CPU_AVX2) features |= FOVEA_CPU_FOLLOWS_ROWS;
#ifndef __APPLE__ /* macOS enables the ZMM state lazily, and up to 12.1 it corrupted mask registers */
  const uint32_t f_dq_bw_vl = UINT32_C(1) << 16 | UINT32_C(1) << 17 | UINT32_C(1) << 30 | UINT32_C(1) << 31;
  const uint32_t leaf7_1_avx512_bf16 = UINT32_C(1) << 5, leaf7_avx512_vnni = UINT32_C(1) << 11;
  const uint64_t zmm_state = 0xe6;
  if (has_all(words->saved, zmm_state) && has_all(words->leaf7_ebx, f_dq_bw_vl)) {
    features |= FOVEA_CPU_AVX512;
    if (words->leaf7_1_eax & leaf7_1_avx512_bf16) features |= FOVEA_CPU_AVX512_BF16;
    if (words->leaf7_ecx & leaf7_avx512_vnni) features |= FOVEA_CPU_AVX512_VNNI;
    if (amd) features |= FOVEA_CPU_FAST_BF16;
  }
  const uint32_t leaf7_amx_bf16_and_tile = UINT32_C(1) << 22 | UINT32_C(1) << 24;
  const uint32_t leaf7_amx_int8 = UINT32_C(1) << 25;
  const uint64_t tile_state = UINT64_C(3) << 17;
  if (has_all(words->saved, tile_state) && has_all(words->leaf7_edx, leaf7_amx_bf16_and_tile))
    features |= FOVEA_CPU_AMX_BF16 | (words->leaf7_edx & leaf7_amx_int8 ? FOVEA_CPU_AMX_INT8 : 0);
#endif
  return features;
}

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/* XCR0. Only valid if OSXSAVE is set; volatile, so that the compiler does not move it before that check. */
static uint64_t saved_registers(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

uint64_t fovea_cpu_features(void) {
  fovea_x86_words words;
  uint32_t eax, ebx, ecx, edx, name[3];
  memset(&words, 0, sizeof words);
  if (__get_cpuid(0, &eax, &name[0], &name[2], &name[1])) memcpy(words.vendor, name, sizeof words.vendor);
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) words.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    words.leaf7_ebx = ebx;
    words.leaf7_ecx = ecx;
    words.leaf7_edx = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) words.leaf7_1_eax = eax;
  }
  if (words.leaf1_ecx & leaf1_osxsave) words.saved = saved_registers();
  return fovea_cpu_x86_features(&words);
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
