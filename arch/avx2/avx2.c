/* AVX2 with FMA and F16C. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#include "tiles.h"
#include "vector.h"

/* Sixteen registers are what three vectors beside four keys take. gcc's coalescing of variables ties sums to
 * registers that are taken, and keeps two of them on the stack. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-tree-coalesce-vars")
#endif
#include "../shared/score.h"
#ifndef __clang__
#pragma GCC pop_options
#endif

#include "../shared/bodies.h"
#endif
