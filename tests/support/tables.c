#include "tables.h"

#include "src/system/dispatch.h"

#include <stdlib.h>

/* Whether the last table has the functions of one before: tables of a set may differ in numbers alone. */
static int is_listed(const fovea_kernels *const *tables, int last) {
  for (int i = 0; i < last; i++)
    if (tables[i]->score == tables[last]->score && tables[i]->score_pairs == tables[last]->score_pairs) return 1;
  return 0;
}

static void list_tables(const fovea_kernels **tables, int with_pairs) {
  fovea_library_info info = {.struct_size = sizeof info};
  if (fovea_info(&info) != FOVEA_OK) abort();
  int count = 0;
  for (int i = 0; i < info.isa_count; i++) {
    if (!info.isas[i]->usable || (info.isas[i]->type != FOVEA_F32) != with_pairs) continue;
    if (fovea_dispatch_wanted(info.isas[i]->name, info.isas[i]->type, &tables[count], NULL) != FOVEA_OK) abort();
    if (!is_listed(tables, count)) count++;
  }
  tables[count] = NULL;
}

const fovea_kernels *const *whole_tables(void) {
  static const fovea_kernels *tables[FOVEA_ISA_LIMIT + 1];
  list_tables(tables, 0);
  return tables;
}

const fovea_kernels *const *pair_tables(void) {
  static const fovea_kernels *tables[FOVEA_ISA_LIMIT + 1];
  list_tables(tables, 1);
  return tables;
}
