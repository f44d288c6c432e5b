/* How many names of instruction sets and their tables there are. */
#ifndef FOVEA_TESTS_SUPPORT_ISA_COUNT_H
#define FOVEA_TESTS_SUPPORT_ISA_COUNT_H

#include "arch/registry.h"

#define FOVEA_TESTS_ONE(...) +1
enum { ISA_COUNT = 0 FOVEA_INSTRUCTION_SETS(FOVEA_TESTS_ONE) FOVEA_TILE_TABLES(FOVEA_TESTS_ONE) };

#endif
