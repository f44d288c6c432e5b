/* A table of NEON for CPUs with dot products of bytes. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
#define FOVEA_ISA    neon_dot
#define FOVEA_SET    neon
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#include "../neon/registers.h"
#include "../neon/tiles.h"
#include "../neon/vector.h"

#include "int8_layer.h"

#include "../shared/int8.h"

#include "../shared/table.h"
#endif
