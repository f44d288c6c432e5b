#include "operations.h"

#include "../src/system/dispatch.h"
#include "harness.h"
#include "machine.h"
#include "runner.h"
#include "vector_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The streamed bytes are a sixth of L1, so that a tile's other arrays fit beside them; half of a small L2; or more
 * than any share of the last-level cache. */
typedef struct level {
  const char *name;
  size_t bytes;
} level;
static const level levels[] = {{"L1", 8 << 10}, {"L2", 256 << 10}, {"memory", 128 << 20}};
enum { LEVELS = sizeof levels / sizeof *levels, CASES = 512, PIECES = 256 };

typedef struct operation_case {
  const fovea_kernels *table;
  const char *peak; /* the set whose FMA peak it is compared with */
  const bench_operation *operation;
  const level *level;
} operation_case;

static const double slice = 0.005;

operation_arrays bench_operation_arrays;

/* ---- The pool ------------------------------------------------------------------------------------------------ */

static char *pool;

/* 16-bit words from 0x3800 to 0x3bff of either sign: ordinary numbers as f16, as bf16 and in pairs as f32, and as
 * bytes rarely zero. */
static void fill(void *memory, size_t bytes) {
  uint16_t *halves = memory;
  const size_t first = bytes < 4096 ? bytes : 4096;
  uint32_t state = 1;
  for (size_t i = 0; i < first / sizeof *halves; i++) {
    state = state * 1664525u + 1013904223u;
    halves[i] = (uint16_t)((state >> 16 & 0x83ffu) | 0x3801u);
  }
  for (size_t done = first; done < bytes; done += first)
    memcpy((char *)memory + done, memory, bytes - done < first ? bytes - done : first);
}

/* Once for each benchmark, since some operations write into the pool. */
static int prepare(const operation_case *wanted) {
  static const operation_case *of;
  if (of == wanted) return 1;
  if (!pool) pool = bench_allocate(levels[LEVELS - 1].bytes);
  if (!pool) return 0;
  of = wanted;
  fill(pool, wanted->level->bytes);
  fill(&bench_operation_arrays, sizeof bench_operation_arrays);
  for (int row = 0; row < OPERATION_ROWS; row++) {
    bench_operation_arrays.row_sum[row] = bench_operation_arrays.block_sum[row] = 2.0f;
    bench_operation_arrays.old_part[row] = bench_operation_arrays.new_part[row] = 0.5f;
    bench_operation_arrays.row_max[row] = bench_operation_arrays.maxima[row] = 1.0f;
  }
  return 1;
}

/* ---- A round ------------------------------------------------------------------------------------------------- */

static size_t piece_of(const operation_case *wanted) {
  const bench_operation *operation = wanted->operation;
  const size_t most = operation->piece * (operation->tiled ? (size_t)wanted->table->row_tile : 1);
  return most < wanted->level->bytes ? most : wanted->level->bytes;
}

static double flops_of_byte(const operation_case *wanted) {
  const bench_operation *operation = wanted->operation;
  const int slots = operation->by_rows ? wanted->table->row_tile : operation->slots;
  return 2.0 * slots / (fovea_type_bits(operation->type) / 8.0);
}

/* Seconds for a streamed byte. Goes on where the last round stopped, so that no byte is in a cache. */
static double time_operation(const operation_case *wanted) {
  static size_t at;
  const size_t piece = piece_of(wanted), pieces = wanted->level->bytes / piece;
  const size_t batch = ((size_t)256 << 10) / piece + 1;
  double bytes = 0.0, seconds = 0.0;
  const double start = machine_now();
  while (seconds < slice) {
    for (size_t i = 0; i < batch; i++) {
      at = (at + 1) % pieces;
      const operation_call call = {wanted->table, pool + at * piece, piece, pool + (at + 1) % pieces * piece};
      wanted->operation->run(&call);
    }
    bytes += (double)(batch * piece);
    seconds = machine_now() - start;
  }
  return seconds / bytes;
}

/* Bytes per second of plainly reading the level. */
static double read_rate(const operation_case *wanted) {
  static machine_piece pieces[PIECES];
  const size_t bytes = wanted->level->bytes < ((size_t)1 << 20) ? wanted->level->bytes : (size_t)1 << 20;
  const size_t count = wanted->level->bytes / bytes;
  for (size_t i = 0; i < PIECES; i++) pieces[i] = (machine_piece){pool + i % count * bytes, bytes};
  return machine_read_rate_of_pieces(pieces, count > 1 ? count : PIECES, slice);
}

static void run_round(bench_round *round, const void *argument) {
  const operation_case *wanted = argument;
  if (!prepare(wanted)) {
    bench_skip(round, "not enough memory");
    return;
  }
  time_operation(wanted);
  const double peak_before = machine_fma_peak(wanted->peak, 1, slice), reading_before = read_rate(wanted);
  const double time = time_operation(wanted);
  const double peak = 0.5 * (peak_before + machine_fma_peak(wanted->peak, 1, slice));
  const double reading = 0.5 * (reading_before + read_rate(wanted)), flops = flops_of_byte(wanted);
  const double bound = flops / peak > 1.0 / reading ? flops / peak : 1.0 / reading;
  bench_seconds(round, time * (double)piece_of(wanted));
  bench_counter(round, "gigabytes_per_second", 1e-9 / time);
  bench_counter(round, "read_gigabytes_per_second", reading * 1e-9);
  bench_counter(round, "gflops", flops / time * 1e-9);
  bench_counter(round, "peak_gflops", peak * 1e-9);
  bench_counter(round, "bound_fraction", bound / time);
}

/* ---- Which there are ----------------------------------------------------------------------------------------- */

static void register_operations(const fovea_kernels *table, const char *peak, const bench_operation *operations) {
  static operation_case cases[CASES];
  static int used;
  for (; operations->name; operations++)
    for (int i = 0; i < LEVELS && used < CASES; i++) {
      char name[128];
      cases[used] = (operation_case){table, peak, operations, &levels[i]};
      snprintf(name, sizeof name, "op/%s/%s/%s", table->name, operations->name, levels[i].name);
      bench_register(name, run_round, &cases[used++], BENCH_NANOSECONDS);
    }
}

/* Tables that have a peak to compare with, with all operations; and what other tables add to them. */
void bench_register_operations(void) {
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    const char *name = isa.name;
    const fovea_kernels *table;
    if (!isa.usable || fovea_dispatch_wanted(name, FOVEA_F32, &table, NULL) != FOVEA_OK) continue;
    if (vector_kernels_named(name)) {
      register_operations(table, name, bench_tile_operations);
      register_operations(table, name, bench_row_operations);
    } else if (table->pair_type == FOVEA_BF16) {
      register_operations(table, isa.base, bench_pair_operations);
    }
  }
}
