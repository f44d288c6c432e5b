/* All operations of an instruction set and its table, in one translation unit. Included by arch/<isa>/<isa>.c after
 * tiles.h and the vector layer, or by a test after tile sizes of its own and a vector layer.
 *
 * score.h and value.h may be included before, under pragmas of their own; they are not included twice. A file with
 * an operation of its own includes the other bodies by their names instead of this file. */

#include "adjust.h"
#include "careful.h"
#include "decode.h"
#include "rotary.h"
#include "rows.h"
#include "scan.h"
#include "score.h"
#include "softmax.h"
#include "store.h"
#include "value.h"

#include "table.h"
