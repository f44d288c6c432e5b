/* AMX's tiles in plain C, for CPUs that have none: takes the place of the intrinsics that arch/amx and test_tiles.c
 * use. Included before any of them, or after immintrin.h. */
#ifndef FOVEA_TESTS_EMULATED_TILES_H
#define FOVEA_TESTS_EMULATED_TILES_H

#include <immintrin.h>
#include <stddef.h>

/* Each is an instruction, by Intel's manual, volume 2. What raises an exception there ends the program here. Every
 * thread has tiles of its own. */
void emulated_loadconfig(const void *config);
void emulated_release(void);
void emulated_zero(int tile);
void emulated_loadd(int tile, const void *from, ptrdiff_t stride);
void emulated_stored(int tile, void *to, ptrdiff_t stride);
void emulated_dpbf16ps(int sums, int a, int b);
void emulated_dpbssd(int sums, int a, int b);
void emulated_dpbsud(int sums, int a, int b);
void emulated_dpbusd(int sums, int a, int b);

/* How many products of tiles all threads have computed. */
long long emulated_products(void);

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#define _tile_loadconfig emulated_loadconfig
#define _tile_release    emulated_release
#define _tile_zero       emulated_zero
#define _tile_loadd      emulated_loadd
#define _tile_stored     emulated_stored
#define _tile_dpbf16ps   emulated_dpbf16ps
#define _tile_dpbssd     emulated_dpbssd
#define _tile_dpbsud     emulated_dpbsud
#define _tile_dpbusd     emulated_dpbusd

#endif
