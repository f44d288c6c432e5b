#include "grid.h"

#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *grid_directory(void) {
  return getenv("FOVEA_CONFORMANCE_DIR");
}

static char *read_text(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/grids/%s", grid_directory(), name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail_msg("cannot read %s", path);
  size_t size = 0, capacity = 1 << 20;
  char *text = malloc(capacity);
  assert_non_null(text);
  size = fread(text, 1, capacity - 1, file);
  assert_true(feof(file));
  fclose(file);
  text[size] = '\0';
  return text;
}

static int count_of(const char *text, char wanted) {
  int count = 0;
  for (; *text != '\0'; text++) count += *text == wanted;
  return count;
}

struct grid grid_read(const char *name) {
  struct grid grid = {.text = read_text(name)};
  const int lines = count_of(grid.text, '\n');
  const int separators = count_of(grid.text, '\t') + lines;
  if (lines == 0) {
    fail_msg("%s has no lines", name);
    return grid;
  }
  grid.columns = separators / lines;
  assert_int_equal(separators % lines, 0);
  grid.rows = lines - 1;
  grid.cells = malloc((size_t)separators * sizeof *grid.cells);
  assert_non_null(grid.cells);
  char *cell = grid.text;
  for (int i = 0; i < separators; i++) {
    grid.cells[i] = cell;
    cell += strcspn(cell, "\t\n");
    *cell++ = '\0';
  }
  return grid;
}

void grid_free(struct grid *grid) {
  free(grid->text);
  free(grid->cells);
}

const char *grid_text(const struct grid *grid, int row, const char *column) {
  for (int i = 0; i < grid->columns; i++)
    if (strcmp(grid->cells[i], column) == 0) return grid->cells[(row + 1) * grid->columns + i];
  fail_msg("no column %s", column);
  return NULL;
}

int64_t grid_number(const struct grid *grid, int row, const char *column) {
  return strtoll(grid_text(grid, row, column), NULL, 10);
}

void grid_pair(const struct grid *grid, int row, const char *column, int64_t pair[2]) {
  if (sscanf(grid_text(grid, row, column), "%" SCNd64 "x%" SCNd64, &pair[0], &pair[1]) != 2)
    fail_msg("%s is no pair", grid_text(grid, row, column));
}
