/* The operations of layers and the table of all, in one translation unit. arch/<isa>/nn/<isa>_nn.c includes it
 * after the vector layer and its tile sizes. */

#include "../types.h"

#include "activate.h"
#include "additive.h"
#include "average.h"
#include "bf16_numbers.h"

#include "bf16_mode.h"
#include "coded.h"
#include "dot.h"
#include "dot_codes.h"
#include "dot_few.h"
#include "edges.h"
#include "embed.h"
#include "finish.h"
#include "functions.h"
#include "gates.h"
#include "many.h"
#include "norm.h"
#include "softmax.h"
#include "weights.h"

#include "table.h"
