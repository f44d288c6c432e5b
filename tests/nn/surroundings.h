/* Layers and rows for calls in every floating-point environment. */
#ifndef FOVEA_TESTS_NN_SURROUNDINGS_H
#define FOVEA_TESTS_NN_SURROUNDINGS_H

#include "support/check.h"
#include "support/everywhere.h"

#include <fovea/nn.h>

enum { FEW = 2, MANY = 1200, LENGTH = 9, WIDTH = 24, HEADS = 3, DIM = WIDTH / HEADS, WEIGHTS = 12000 };
enum { NUMBERS = MANY * LENGTH * WIDTH };

/* Every other x is a subnormal, and so are products of `tiny` weights. */
extern float x[NUMBERS], plain[NUMBERS], weights[WEIGHTS], tiny[WIDTH * WIDTH];
extern uint16_t halves[NUMBERS];
extern int32_t ids[MANY * LENGTH];

/* Batch elements. With so many that there is work for more than one thread, each kind of call is made once, and
 * outputs are of 16 bits: there is not room for more. */
extern int64_t batch;
extern fovea_type output_type;
extern fovea_nn_linear layers[6];
extern fovea_nn_norm norms[2];
extern fovea_nn_attention attention;
extern fovea_nn_block block;
extern fovea_rotary rotary;
extern fovea_execution execution;

int surroundings_set_up(void **state);

/* Calls act() on every instruction set, then in threads. */
void assert_everywhere(void (*act)(void));

/* Batch elements in threads: at first MANY, at most as many. */
extern int64_t many;

int64_t rows_now(void);
void *room_for_rows(void);
/* The number of variants of a call, of which there may be `all`. */
int variants(int all);

#endif
