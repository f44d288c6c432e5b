#include "tables.h"
#include "isa_count.h"

#include "src/system/dispatch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Whether the last table has the functions of one before: tables of a set may differ in numbers alone. */
static int is_listed(const fovea_kernels *const *tables, int last) {
  for (int i = 0; i < last; i++)
    if (tables[i]->score == tables[last]->score && tables[i]->score_pairs == tables[last]->score_pairs) return 1;
  return 0;
}

static void list_tables(const fovea_kernels **tables, int with_pairs) {
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  int count = 0;
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    if (!isa.usable || (isa.type != FOVEA_F32) != with_pairs) continue;
    if (fovea_dispatch_wanted(isa.name, isa.type, &tables[count], NULL) != FOVEA_OK) abort();
    if (!is_listed(tables, count)) count++;
  }
  tables[count] = NULL;
}

const fovea_kernels *const *whole_tables(void) {
  static const fovea_kernels *tables[ISA_COUNT + 1];
  list_tables(tables, 0);
  return tables;
}

const fovea_kernels *const *pair_tables(void) {
  static const fovea_kernels *tables[ISA_COUNT + 1];
  list_tables(tables, 1);
  return tables;
}

static int same_fields(const fovea_kernels *one, const fovea_kernels *other, size_t from, size_t to) {
  return memcmp((const char *)one + from, (const char *)other + from, to - from) == 0;
}

int tables_act_alike(const fovea_kernels *one, const fovea_kernels *other, fovea_type q_type) {
  const int one_pairs = q_type != FOVEA_F32 && one->pair_type == q_type;
  const int other_pairs = q_type != FOVEA_F32 && other->pair_type == q_type;
  return one_pairs == other_pairs && (!one_pairs || one->score_pairs == other->score_pairs) &&
         same_fields(one, other, offsetof(fovea_kernels, lanes), offsetof(fovea_kernels, pair_type)) &&
         same_fields(one, other, offsetof(fovea_kernels, load_rows), offsetof(fovea_kernels, bf16));
}

static const fovea_arithmetic *arithmetic_of(const fovea_kernels *table, fovea_mode mode) {
  return mode == FOVEA_MODE_BF16 ? table->bf16 : mode == FOVEA_MODE_INT8 ? table->int8 : NULL;
}

int tables_run_alike(const fovea_kernels *one, const fovea_kernels *other, const fovea_problem *problem) {
  return tables_act_alike(one, other, problem->q_type) &&
         arithmetic_of(one, problem->modes.score) == arithmetic_of(other, problem->modes.score) &&
         arithmetic_of(one, problem->modes.value) == arithmetic_of(other, problem->modes.value);
}
