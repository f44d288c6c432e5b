/* A test of modes once more, with AMX by emulated tiles, whatever the CPU has. CMake links the test with arch/amx
 * over emulated_tiles.h, which the linker then does not take from the library, and with these functions in the
 * place of others. So all else is the library as it is, beginning with fovea_allow_amx(). */
#include "arch/features.h"
#include "emulated_tiles.h"
#include "src/system/process.h"
#include "support/modes.h"
#include "support/trial.h"

#include <stdio.h>

uint64_t __real_fovea_cpu_features(void);
uint64_t __wrap_fovea_cpu_features(void);
int __wrap_fovea_platform_permit_amx(void);
int __wrap_mode_sets(const char *names[MODE_SETS]);
int __real_main(void);
int __wrap_main(void);

uint64_t __wrap_fovea_cpu_features(void) {
  return __real_fovea_cpu_features() | FOVEA_CPU_AMX_BF16 | FOVEA_CPU_AMX_INT8;
}

int __wrap_fovea_platform_permit_amx(void) {
  return 1;
}

/* AMX first, which is compared with the contract, and one set, which has all bits of AMX's. */
int __wrap_mode_sets(const char *names[MODE_SETS]) {
  names[0] = NULL;
  names[1] = whole_isas()[0];
  return 2;
}

int __wrap_main(void) {
  const uint64_t needed = FOVEA_CPU_AVX512 | FOVEA_CPU_AVX512_BF16;
  const fovea_process *process = fovea_process_record();
  fovea_error error;
  if ((process->features & needed) != needed || process->isa_cap[0] != '\0') {
    puts("skipped: this CPU has no AVX512_BF16, or FOVEA_ISA names a set");
    return 77;
  }
  if (fovea_allow_amx(&error) != FOVEA_OK) {
    printf("AMX is not allowed: %s\n", error.text);
    return 1;
  }
  const long long before = emulated_products();
  const int status = __real_main();
  if (emulated_products() > before) return status;
  puts("nothing was multiplied by tiles");
  return 1;
}
