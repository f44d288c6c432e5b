#include "explain_print.h"

#include "attend_modes.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 12 };

static void print_name(const char *name) {
  printf("%-*s", NAME_WIDTH, name);
}

/* A count; "too many" if it does not fit. */
static void print_count(int64_t count) {
  if (count == INT64_MAX)
    fputs("too many to count", stdout);
  else
    printf("%lld", (long long)count);
}

static void print_share(int64_t part, int64_t whole) {
  if (whole > 0 && whole != INT64_MAX && part != INT64_MAX)
    printf(" (%.2f %%)", 100.0 * (double)part / (double)whole);
}

/* A number with a prefix of units, such as "12.5 GB". */
static void print_scaled(double number, const char *unit) {
  static const char prefixes[] = " kMGTPE";
  size_t prefix = 0;
  for (; number >= 999.95 && prefix + 2 < sizeof prefixes && number <= DBL_MAX; prefix++) number /= 1000;
  if (prefix == 0)
    printf("%g %s", number, unit);
  else
    printf("%.1f %c%s", number, prefixes[prefix], unit);
}

static void print_kernels(const fovea_explanation *e) {
  print_name("kernels");
  printf("%s: %s\n", e->table, e->isa_reason);
  print_name("");
  printf("%d rows in a vector, %d in a tile%s\n", e->lanes, e->row_tile,
         e->paired ? "; scores are products of pairs where the elements allow it" : "");
}

/* Of both halves: their modes, and what computes the products of modes that are not exact. */
static void print_modes(const fovea_explanation *e, const fovea_problem *problem) {
  const fovea_mode scores = problem->modes.score, values = problem->modes.value;
  print_name("arithmetic");
  if (scores == FOVEA_MODE_EXACT && values == FOVEA_MODE_EXACT) {
    puts("exact");
    return;
  }
  printf("scores %s, values %s; products of", mode_name(scores), mode_name(values));
  if (scores != FOVEA_MODE_EXACT) printf(" %s by %s", mode_name(scores), e->products);
  if (scores != FOVEA_MODE_EXACT && values != FOVEA_MODE_EXACT && values != scores) fputs(", of", stdout);
  if (values != FOVEA_MODE_EXACT && values != scores) printf(" %s by %s", mode_name(values), e->value_products);
  putchar('\n');
}

static void print_ways(const fovea_explanation *e) {
  const struct {
    int64_t rows;
    const char *way;
  } ways[] = {{e->rows_tiled, "in tiles, rows in the lanes of vectors"},
              {e->rows_decoded, "decoded, keys in the lanes of vectors"},
              {e->rows_gathered, "one by one, the keys of their lists gathered"}};
  const char *name = "rows";
  for (int i = 0; i < 3; i++) {
    if (ways[i].rows == 0) continue;
    print_name(name);
    print_count(ways[i].rows);
    printf(" %s\n", ways[i].way);
    name = "";
  }
  if (*name) {
    print_name(name);
    puts("none");
  } else {
    print_name("");
    puts(e->rows_reason);
  }
}

static void print_tasks(const fovea_explanation *e) {
  print_name("keys");
  if (e->parts > 0 && e->part_keys > 0)
    printf("split into %lld parts of %lld keys: %s\n", (long long)e->parts, (long long)e->part_keys,
           e->parts_reason);
  else
    printf("not split: %s\n", e->parts_reason);
  print_name("tasks");
  printf("%lld of up to %lld tile%s, in %d phase%s, on %d thread%s\n", (long long)e->tasks,
         (long long)e->tiles_of_task, e->tiles_of_task == 1 ? "" : "s", e->phases, e->phases == 1 ? "" : "s",
         e->workers, e->workers == 1 ? "" : "s");
}

static void print_blocks(const fovea_explanation *e) {
  const struct {
    const char *name;
    int64_t count;
    const char *what;
  } kinds[] = {{"  empty", e->blocks_empty, "skipped"},
               {"  full", e->blocks_full, "every row sees every key"},
               {"  limited", e->blocks_limited, "a row sees an interval of keys"},
               {"  bits", e->blocks_bits, "the pattern says which keys, bit by bit"},
               {"  masked", e->blocks_masked, "unknown until run: the mask says what is left"}};
  print_name("blocks");
  print_count(e->blocks);
  puts(" of a row tile and 128 keys");
  for (int i = 0; i < 5; i++) {
    if (kinds[i].count == 0) continue;
    print_name(kinds[i].name);
    print_count(kinds[i].count);
    print_share(kinds[i].count, e->blocks);
    printf(", %s\n", kinds[i].what);
  }
}

static void print_work(const fovea_explanation *e, const fovea_problem *problem) {
  print_name("pairs");
  print_count(e->pairs);
  fputs(" of a row and a key, ", stdout);
  print_count(e->pairs_visible);
  print_share(e->pairs_visible, e->pairs);
  fputs(" visible, ", stdout);
  print_count(e->pairs_computed);
  printf(" computed%s\n", problem->mask.type != FOVEA_MASK_NONE ? ", as if there were no mask" : "");
  print_name("work");
  print_scaled(e->flops, "flop");
  printf(", %g for each visible pair\n", 2 * ((double)problem->qk_dim + (double)problem->v_dim));
  print_name("memory");
  print_scaled(e->bytes_read, "B");
  fputs(" read, ", stdout);
  print_scaled(e->bytes_written, "B");
  fputs(" written, ", stdout);
  print_scaled((double)e->scratch_bytes, "B");
  puts(" of scratch");
}

static void print_seconds(double seconds) {
  if (seconds < 1e-3)
    printf("%.3g us", seconds * 1e6);
  else if (seconds < 1)
    printf("%.3g ms", seconds * 1e3);
  else
    printf("%.3g s", seconds);
}

static void print_times(const fovea_explanation *e, bool measured) {
  const double flops = e->compute_seconds, bytes = e->memory_seconds;
  if (flops == 0 && bytes == 0) return;
  print_name("time");
  fputs(measured ? "about " : "at least ", stdout);
  if (flops > 0) {
    print_seconds(flops);
    fputs(" for the work at ", stdout);
    print_scaled(e->flops_per_second, "flop/s");
  }
  if (flops > 0 && bytes > 0) fputs(", ", stdout);
  if (bytes > 0) {
    print_seconds(bytes);
    fputs(" for the memory at ", stdout);
    print_scaled(e->bytes_per_second, "B/s");
  }
  if (flops > 0 && bytes > 0) printf("; the %s decides", flops >= bytes ? "work" : "memory");
  putchar('\n');
}

void explain_print(const fovea_explanation *explanation, const fovea_problem *problem, bool measured) {
  print_kernels(explanation);
  print_modes(explanation, problem);
  print_ways(explanation);
  print_tasks(explanation);
  print_blocks(explanation);
  print_work(explanation, problem);
  print_times(explanation, measured);
}

void explain_print_speed(const measured_rates *of, const measured_rates *exact) {
  print_name("exact");
  print_scaled(exact->flops_per_second, "flop/s");
  fputs(", ", stdout);
  print_scaled(exact->bytes_per_second, "B/s");
  printf(" here in exact mode: this is %.2f x as fast with many rows, %.2f x with one\n",
         of->flops_per_second / exact->flops_per_second, of->bytes_per_second / exact->bytes_per_second);
}
