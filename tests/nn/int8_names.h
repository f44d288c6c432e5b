/* The instruction sets and tables that int8 mode is tested on. */
#ifndef FOVEA_TESTS_NN_INT8_NAMES_H
#define FOVEA_TESTS_NN_INT8_NAMES_H

/* Every name whose kernels for layers in int8 mode no name before it has. NULL ends the list. */
const char *const *int8_names(void);

#endif
