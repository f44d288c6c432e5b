/* All operations of an instruction set and its table, in one translation unit. arch/<isa>/<isa>.c includes it after
 * tiles.h and the vector layer; a test, after its own tile sizes and a vector layer.
 *
 * A file may include score.h and value.h before this one, under pragmas; they are not included twice. A file that
 * writes an operation by hand includes the other bodies by their names instead of this file. */

#include "adjust.h"
#include "careful.h"
#include "codes.h"
#include "columns.h"
#include "decode.h"
#include "gather_rows.h"
#include "hadamard.h"
#include "keep.h"
#include "narrow.h"
#include "normalise.h"
#include "rotary.h"
#include "rows.h"
#include "scan.h"
#include "score.h"
#include "shaw.h"
#include "softmax.h"
#include "spread.h"
#include "store.h"
#include "top.h"
#include "value.h"

#include "bf16.h"
#include "int8.h"

#include "table.h"
