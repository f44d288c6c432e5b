/* A tab-separated table with names in its first line, from $FOVEA_CONFORMANCE_DIR/grids. */
#ifndef FOVEA_TESTS_GRID_H
#define FOVEA_TESTS_GRID_H

#include <stdint.h>

struct grid {
  char *text;
  const char **cells; /* row by row, the names first */
  int columns, rows;  /* rows without the names */
};

/* NULL if the environment names no directory. */
const char *grid_directory(void);

/* If the file is missing, or a cell has no such text, the running test fails. */
struct grid grid_read(const char *name);
void grid_free(struct grid *grid);

const char *grid_text(const struct grid *grid, int row, const char *column);
int64_t grid_number(const struct grid *grid, int row, const char *column);
/* A cell like 113x203. */
void grid_pair(const struct grid *grid, int row, const char *column, int64_t pair[2]);

#endif
