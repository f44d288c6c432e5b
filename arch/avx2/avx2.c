/* AVX2 with FMA and F16C: the core and the tables. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64_AVX2
#include "tiles.h"
#include "vector.h"

/* Three vectors beside four keys take all sixteen registers. gcc's coalescing of variables ties sums to registers
 * that are in use, and so keeps two sums on the stack. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-tree-coalesce-vars")
#endif
#include "../shared/score.h"
#ifndef __clang__
#pragma GCC pop_options
#endif

#include "../shared/groups/core.h"
#include "../shared/table.h"

/* A second table for cores that read V where it lies (FOVEA_CPU_READS_ROWS). */
#undef FOVEA_TABLE
#define FOVEA_TABLE avx2_rows
#undef FOVEA_PANEL_TILES
#define FOVEA_PANEL_TILES 0
#include "../shared/table.h"
#endif
