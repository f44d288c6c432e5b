/* Each instruction set names its primitives for vector_body.h, which has the loops. */
#include "vector_kernels.h"

#include <fovea/fovea.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA_NAME         "avx512"
#define ISA(name)        name##_avx512
#define TARGET           __attribute__((target("avx512f")))
#define LANES            16
#define FMA_CHAINS       24
#define vec              __m512
#define LOAD(p)          _mm512_loadu_ps(p)
#define STORE(p, a)      _mm512_storeu_ps(p, a)
#define SET1(x)          _mm512_set1_ps(x)
#define ADD(a, b)        _mm512_add_ps(a, b)
#define SUB(a, b)        _mm512_sub_ps(a, b)
#define MAX(a, b)        _mm512_max_ps(a, b)
#define FMA(a, b, c)     _mm512_fmadd_ps(a, b, c)
#define NEAREST(a)       _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define TIMES_2_TO(a, r) _mm512_scalef_ps(a, r)
#include "vector_body.h"

#define ISA_NAME     "avx2"
#define ISA(name)    name##_avx2
#define TARGET       __attribute__((target("avx2,fma")))
#define LANES        8
#define FMA_CHAINS   12
#define vec          __m256
#define LOAD(p)      _mm256_loadu_ps(p)
#define STORE(p, a)  _mm256_storeu_ps(p, a)
#define SET1(x)      _mm256_set1_ps(x)
#define ADD(a, b)    _mm256_add_ps(a, b)
#define SUB(a, b)    _mm256_sub_ps(a, b)
#define MAX(a, b)    _mm256_max_ps(a, b)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define NEAREST(a)   _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define TIMES_2_TO(a, r)                                                                                           \
  _mm256_mul_ps(a, _mm256_castsi256_ps(                                                                            \
                       _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(r), _mm256_set1_epi32(127)), 23)))
#include "vector_body.h"

static const vector_kernels *const all_kernels[] = {&kernels_avx512, &kernels_avx2};

#elif defined(__aarch64__)
#include <arm_neon.h>

#define ISA_NAME  "neon"
#define ISA(name) name##_neon
#define TARGET
#define LANES        4
#define FMA_CHAINS   24
#define vec          float32x4_t
#define LOAD(p)      vld1q_f32(p)
#define STORE(p, a)  vst1q_f32(p, a)
#define SET1(x)      vdupq_n_f32(x)
#define ADD(a, b)    vaddq_f32(a, b)
#define SUB(a, b)    vsubq_f32(a, b)
#define MAX(a, b)    vmaxq_f32(a, b)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define NEAREST(a)   vrndnq_f32(a)
#define TIMES_2_TO(a, r)                                                                                           \
  vmulq_f32(a, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(r), vdupq_n_s32(127)), 23)))
#include "vector_body.h"

static const vector_kernels *const all_kernels[] = {&kernels_neon};

#else
#error "The benchmarks know x86-64 and AArch64. Build the library alone with -DFOVEA_BUILD_BENCH=OFF"
#endif

enum { kernels_count = sizeof all_kernels / sizeof all_kernels[0] };

const vector_kernels *vector_kernels_named(const char *isa) {
  for (int i = 0; i < kernels_count; i++)
    if (strcmp(all_kernels[i]->isa, isa) == 0) return all_kernels[i];
  return NULL;
}

const vector_kernels *vector_kernels_best(void) {
  fovea_library_info info = {.struct_size = sizeof info};
  return fovea_info(&info) == FOVEA_OK ? vector_kernels_named(info.isa) : NULL;
}
