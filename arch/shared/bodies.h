/* All operations of an instruction set and its table, in one translation unit, for a table with other tile sizes. A
 * test includes it after its own tile sizes, a vector layer and int8_layer.h. */

#include "groups/bf16.h"
#include "groups/core.h"
#include "groups/decode.h"
#include "groups/formats.h"
#include "groups/int8.h"
#include "groups/lists.h"
#include "groups/outputs.h"
#include "groups/terms.h"

#define FOVEA_ONE_UNIT
#include "table.h"
