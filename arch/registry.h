/* The instruction sets, one line each. If a CPU runs several sets, the best comes first; portable C is last. The
 * dispatcher, fovea_isa_at(), the tests, their audits and the benchmarks take their lists from here. CMake and
 * scripts read the lines as text.
 *
 *   SET(name, architecture, needs, prefers, type, lacks)
 *
 *   name          the directory arch/<name>, its file <name>.c, and the table fovea_kernels_<name> in it
 *   architecture  which builds have the table, FOVEA_ARCH_<architecture> in targets.h: ANY; or X86_64, AARCH64, or
 *                 AARCH64_EXTENSIONS (AArch64 with a compiler that allows single functions later instructions), each
 *                 with what a build may leave out: a set, or the tables that add a mode or a type to it
 *   needs         FOVEA_CPU_* bits (features.h) that the table needs to run
 *   prefers       FOVEA_CPU_* bits; without them the table runs only for problems that name it
 *   type          F32: a table for every problem. F16 or BF16: the table adds products of pairs of this type to the
 *                 table of another set, and is chosen only if Q and K have this type; if it is BF16, for bf16 mode,
 *                 too
 *   lacks         what a CPU without `needs` lacks, in words
 */
#ifndef FOVEA_ARCH_REGISTRY_H
#define FOVEA_ARCH_REGISTRY_H

#include "features.h"
#include "targets.h"

/* clang-format off */
#define FOVEA_INSTRUCTION_SETS(SET)                                                                                \
  SET(avx512_bf16, X86_64_AVX512_BF16, FOVEA_CPU_AVX512 | FOVEA_CPU_AVX512_BF16, FOVEA_CPU_FAST_BF16, BF16, "dot products of bf16") \
  SET(avx512, X86_64_AVX512, FOVEA_CPU_AVX512, 0, F32, "AVX-512 (F, BW, DQ, VL)")                                         \
  SET(avx2, X86_64_AVX2, FOVEA_CPU_AVX2 | FOVEA_CPU_FMA | FOVEA_CPU_F16C, 0, F32, "AVX2, FMA or F16C")                  \
  SET(neon_bf16, AARCH64_EXTENSIONS_BF16, FOVEA_CPU_NEON | FOVEA_CPU_NEON_BF16, 0, BF16, "dot products of bf16")        \
  SET(neon_fhm, AARCH64_EXTENSIONS_FHM, FOVEA_CPU_NEON | FOVEA_CPU_NEON_FHM, 0, F16, "long products of f16 (FHM)")     \
  SET(neon, AARCH64_NEON, FOVEA_CPU_NEON, 0, F32, "NEON")                                                               \
  SET(scalar, ANY, 0, 0, F32, "nothing")
/* clang-format on */

/* Instructions for modes only, beside the tables of a set (src/system/arithmetic.c). No problem names them.
 *
 *   EXTENSION(name, architecture, needs, int8_needs, set)
 *
 *   name        the directory arch/<name>, and fovea_extension_<name> in it
 *   needs       FOVEA_CPU_* bits
 *   int8_needs  FOVEA_CPU_* bits that int8 mode needs beside them
 *   set         the set whose tiles the extension has. It serves the tables that have these tiles
 */
/* clang-format off */
#define FOVEA_EXTENSIONS(EXTENSION)                                                                                \
  EXTENSION(amx, X86_64_AMX, FOVEA_CPU_AVX512 | FOVEA_CPU_AVX512_BF16 | FOVEA_CPU_AMX_BF16, FOVEA_CPU_AMX_INT8, avx512)
/* clang-format on */

/* Sets with several tables: the same results, but other uses of registers and caches, or other instructions for
 * modes. The name of the set stands for the table that this CPU prefers. Each table also has a name of its own, for
 * tests and benchmarks.
 *
 *   TABLE(set, architecture, tiles, symbol, needs, prefers)
 *
 *   set, tiles    the table's name is <set>/<tiles>
 *   symbol        the table is fovea_kernels_<symbol>, in a file of arch/<set> or in arch/<symbol>
 *   needs         FOVEA_CPU_* bits that the table needs to run, beside the bits of its set
 *   prefers       FOVEA_CPU_* bits: a CPU takes the first table of a set that it runs and whose bits it has. The
 *                 last table has 0 for both, and is fovea_kernels_<set>
 */
/* clang-format off */
#define FOVEA_TILE_TABLES(TABLE)                                                                                   \
  TABLE(avx512, X86_64_AVX512_INT8, vnni, avx512_vnni, FOVEA_CPU_AVX512_VNNI, 0)                                               \
  TABLE(avx512, X86_64_AVX512, words, avx512, 0, 0)                                                                       \
  TABLE(avx2, X86_64_AVX2, rows, avx2_rows, 0, FOVEA_CPU_READS_ROWS)                                                    \
  TABLE(avx2, X86_64_AVX2_INT8, vnni, avx2_vnni, FOVEA_CPU_AVX_VNNI, 0)                                                      \
  TABLE(avx2, X86_64_AVX2, panels, avx2, 0, 0)                                                                          \
  TABLE(neon, AARCH64_EXTENSIONS_INT8, i8mm, neon_i8mm, FOVEA_CPU_NEON_DOT | FOVEA_CPU_NEON_I8MM, 0)                    \
  TABLE(neon, AARCH64_EXTENSIONS_INT8, dot, neon_dot, FOVEA_CPU_NEON_DOT, 0)                                            \
  TABLE(neon, AARCH64_NEON, words, neon, 0, 0)
/* clang-format on */

/* FOVEA_GENERAL_<type>(text) is the text if a set of this type serves every problem, nothing if it adds pairs. */
#define FOVEA_GENERAL_F32(...) __VA_ARGS__
#define FOVEA_GENERAL_F16(...)
#define FOVEA_GENERAL_BF16(...)

#endif
