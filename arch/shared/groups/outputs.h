/* Scores, top keys, column sums and entropy as outputs. */
#include "../../groups.h"
#if FOVEA_BUILDS_OUTPUTS
#include "../columns.h"
#include "../keep.h"
#include "../spread.h"
#include "../store_outputs.h"
#include "../top.h"
#endif
