#include "nn/int8_names.h"

#include "../../nn/choose_table.h"
#include "support/check.h"
#include "support/isa_count.h"
#include "support/isas.h"

const char *const *int8_names(void) {
  static const char *names[ISA_COUNT + 1];
  const fovea_nn_kernels *kernels[ISA_COUNT];
  const fovea_nn_int8_kernels *codes[ISA_COUNT];
  int count = 0;
  for (const char *const *isa = usable_names(); *isa; isa++) {
    int place = 0;
    assert_int_equal(fovea_nn_dispatch(*isa, &kernels[count], NULL), FOVEA_OK);
    assert_int_equal(fovea_nn_dispatch_int8(*isa, &codes[count], NULL), FOVEA_OK);
    while (kernels[place] != kernels[count] || codes[place] != codes[count]) place++;
    if (place == count) names[count++] = *isa;
  }
  names[count] = NULL;
  return names;
}
