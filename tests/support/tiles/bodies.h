/* A whole kernel table in one file: the shared bodies with whatever FOVEA_ISA and tile sizes stand before. The
 * names of the operations end in FOVEA_ISA, so that tables live side by side. */
#define FOVEA_VALUE_FETCH_ROWS 16
#define FOVEA_DECODE_ROWS      9
#define FOVEA_DECODE_GROUPS_8  1
#define FOVEA_DECODE_GROUPS_4  1
#define FOVEA_DECODE_GROUPS_2  3
#define FOVEA_DECODE_GROUPS_1  5
#define FOVEA_DECODE_VECTORS_1 5
/* Sanitizers take minutes over register tiles: where tests are few, rows are taken one by one. */
#ifdef FOVEA_TEST_QUICK
#define FOVEA_DECODE_VECTORS_8 0
#define FOVEA_DECODE_VECTORS_4 0
#define FOVEA_DECODE_VECTORS_2 0
#else
#define FOVEA_DECODE_VECTORS_8 1
#define FOVEA_DECODE_VECTORS_4 1
#define FOVEA_DECODE_VECTORS_2 3
#endif

#include "arch/shared/adjust.h"
#include "arch/shared/careful.h"
#include "arch/shared/decode.h"
#include "arch/shared/rotary.h"
#include "arch/shared/rows.h"
#include "arch/shared/scan.h"
#include "arch/shared/score.h"
#include "arch/shared/softmax.h"
#include "arch/shared/store.h"
#include "arch/shared/value.h"

#include "arch/shared/table.h"
