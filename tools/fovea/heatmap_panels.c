#include "heatmap_panels.h"

#include "convert.h"

#include <math.h>
#include <stdlib.h>

static bool set_shape(panel_set *panels, const npy_array *array, const char *path, failure *why) {
  const int rank = array->rank;
  if (rank < 2 || rank > 4)
    return fail(why, "%s: has %d axes; (batch, heads, rows, keys), (heads, rows, keys) or (rows, keys) is needed",
                path, rank);
  if (array->count == 0) return fail(why, "%s: is empty; there is nothing to draw", path);
  panels->of_batch = rank > 3 ? array->shape[0] : 1;
  panels->of_heads = rank > 2 ? array->shape[rank - 3] : 1;
  panels->has_heads = rank > 2;
  panels_set_size(panels, array->shape[rank - 2], array->shape[rank - 1]);
  return true;
}

void panels_set_size(panel_set *panels, int64_t rows, int64_t keys) {
  const int64_t limit = panels->cell_limit > 0 ? panels->cell_limit : CELL_LIMIT;
  panels->rows = rows;
  panels->keys = keys;
  panels->row_factor = (panels->rows + limit - 1) / limit;
  panels->key_factor = (panels->keys + limit - 1) / limit;
  panels->cell_rows = (panels->rows + panels->row_factor - 1) / panels->row_factor;
  panels->cell_keys = (panels->keys + panels->key_factor - 1) / panels->key_factor;
}

bool panels_choose(panel_set *panels, const panel_names *names, const number_list *heads, const number_list *batch,
                   failure *why) {
  const int64_t of_heads = panels->of_heads;
  panels->batch = batch->count > 0 ? batch->numbers[0] : 0;
  if (panels->batch < 0 || panels->batch >= panels->of_batch)
    return fail(why, "%s is %lld; %s has %lld batch elements, counted from 0", names->batch,
                (long long)panels->batch, names->of, (long long)panels->of_batch);
  const int64_t count = heads->count > 0 ? heads->count : of_heads < PANEL_DEFAULT ? of_heads : PANEL_DEFAULT;
  if (count > PANEL_LIMIT)
    return fail(why, "%s has %lld numbers; at most %d are drawn", names->heads, (long long)count, PANEL_LIMIT);
  for (int64_t i = 0; i < count; i++) {
    const int64_t head = heads->count > 0 ? heads->numbers[i] : i;
    if (head < 0 || head >= of_heads)
      return fail(why, "%s has %lld; %s has %lld heads, counted from 0", names->heads, (long long)head, names->of,
                  (long long)of_heads);
    for (int64_t before = 0; before < i; before++)
      if (panels->heads[before] == head) return fail(why, "%s has %lld twice", names->heads, (long long)head);
    panels->heads[i] = head;
  }
  panels->count = (int)count;
  return true;
}

static float weight_at(const npy_array *array, int64_t index) {
  return array->type == NPY_F16 ? f32_from_f16(((const uint16_t *)array->data)[index])
                                : ((const float *)array->data)[index];
}

/* The cell that begins at a row and a key of a matrix. */
static float mean(const panel_set *panels, const npy_array *array, int64_t matrix, int64_t row, int64_t key) {
  const int64_t row_end = row + panels->row_factor < panels->rows ? row + panels->row_factor : panels->rows;
  const int64_t key_end = key + panels->key_factor < panels->keys ? key + panels->key_factor : panels->keys;
  double sum = 0;
  for (int64_t i = row; i < row_end; i++)
    for (int64_t j = key; j < key_end; j++) {
      const float weight = weight_at(array, (matrix * panels->rows + i) * panels->keys + j);
      if (weight < 0) return weight;
      sum += isfinite(weight) ? (double)weight : (double)NAN;
    }
  return (float)(sum / ((double)(row_end - row) * (double)(key_end - key)));
}

/* Fills the cells of one panel. */
static bool fill_panel(panel_set *panels, int panel, const npy_array *array, const char *path, failure *why) {
  const int64_t matrix = panels->batch * panels->of_heads + panels->heads[panel];
  float *cell = panels->cells + panel * panels->cell_rows * panels->cell_keys;
  for (int64_t row = 0; row < panels->rows; row += panels->row_factor)
    for (int64_t key = 0; key < panels->keys; key += panels->key_factor) {
      *cell = mean(panels, array, matrix, row, key);
      if (*cell < 0)
        return fail(why, "%s: head %lld has %g at row %lld, key %lld or beside; weights are 0 or more", path,
                    (long long)panels->heads[panel], (double)*cell, (long long)row, (long long)key);
      if (isnan(*cell)) panels->has_holes = true;
      if (*cell > panels->largest) panels->largest = *cell;
      cell++;
    }
  return true;
}

bool panels_allocate(panel_set *panels, failure *why) {
  const size_t cells = (size_t)panels->count * (size_t)panels->cell_rows * (size_t)panels->cell_keys;
  panels->cells = malloc(cells * sizeof *panels->cells);
  return panels->cells || fail(why, "out of memory for %zu cells", cells);
}

bool panels_fill(panel_set *panels, const npy_array *array, const char *path, const number_list *heads,
                 const number_list *batch, failure *why) {
  const panel_names names = {"--heads", "--batch", path};
  if (!set_shape(panels, array, path, why) || !panels_choose(panels, &names, heads, batch, why) ||
      !panels_allocate(panels, why))
    return false;
  for (int panel = 0; panel < panels->count; panel++)
    if (!fill_panel(panels, panel, array, path, why)) return false;
  return true;
}

void panels_free(panel_set *panels) {
  free(panels->cells);
  *panels = (panel_set){.count = 0};
}
