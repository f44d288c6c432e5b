/* The heat map, drawn with cairo. Every length is in pixels. */
#include "heatmap.h"
#include "output.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>

#define FONT            "DejaVu Sans"
#define TITLE_SIZE      25.0
#define SUBTITLE_SIZE   15.0
#define PANEL_SIZE      18.0 /* of a panel's title */
#define LABEL_SIZE      15.0 /* of tokens and of the colour bar */
#define SLANT           0.9  /* of the column labels, radians */
#define MARGIN          36.0
#define HEADER_HEIGHT   74.0 /* title and subtitle */
#define PANEL_TITLE     34.0 /* a panel's title, above its column labels */
#define LABEL_GAP       8.0  /* between a label and its cell */
#define PANEL_GAP       30.0
#define BAR_GAP         46.0
#define BAR_WIDTH       18.0
#define BAR_LABEL_WIDTH 48.0
#define NOTE_HEIGHT     44.0
#define WIDEST_GRID     520.0
#define WIDEST_CELL     46.0
#define LEAST_CELL      17.0  /* labels below each other must not touch */
#define LEAST_NUMBERED  26.0  /* a number in a smaller cell could not be read */
#define LEAST_WRITTEN   0.095 /* weights from here up are written into their cells */

struct layout {
  double cell, grid;                /* a cell's and a panel's side */
  double label_width, label_height; /* of the row labels and of the slanted column labels */
  double grid_top, width, height;
};

struct colour {
  double red, green, blue;
};

static const struct colour ink = {0.13, 0.15, 0.18}, faded = {0.42, 0.45, 0.50}, accent = {0.85, 0.33, 0.10};

/* White to dark blue; the lightness falls evenly. */
static struct colour weight_colour(double weight) {
  static const struct colour stops[] = {
      {1.00, 1.00, 1.00}, {0.78, 0.87, 0.95}, {0.48, 0.70, 0.87}, {0.19, 0.48, 0.74}, {0.05, 0.22, 0.48}};
  const int last = (int)(sizeof stops / sizeof stops[0]) - 1;
  double place = (weight < 0 ? 0 : weight > 1 ? 1 : weight) * last;
  int lower = place < last ? (int)place : last - 1;
  double part = place - lower;
  const struct colour *a = &stops[lower], *b = &stops[lower + 1];
  return (struct colour){a->red + part * (b->red - a->red), a->green + part * (b->green - a->green),
                         a->blue + part * (b->blue - a->blue)};
}

static void use_colour(cairo_t *cairo, struct colour colour) {
  cairo_set_source_rgb(cairo, colour.red, colour.green, colour.blue);
}

static void use_font(cairo_t *cairo, double size, bool bold) {
  cairo_select_font_face(cairo, FONT, CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, size);
}

static double text_width(cairo_t *cairo, const char *text) {
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, text, &extents);
  return extents.x_advance;
}

/* Writes text whose left end (align 0), middle (0.5) or right end (1) is at x, its middle height at y. */
static void write_text(cairo_t *cairo, double x, double y, double align, const char *text) {
  cairo_font_extents_t font;
  cairo_font_extents(cairo, &font);
  cairo_move_to(cairo, x - align * text_width(cairo, text), y + (font.ascent - font.descent) / 2);
  cairo_show_text(cairo, text);
}

static struct layout make_layout(cairo_t *cairo, const struct heatmap *map) {
  struct layout layout = {0};
  layout.cell = WIDEST_GRID / map->token_count;
  if (layout.cell > WIDEST_CELL) layout.cell = WIDEST_CELL;
  if (layout.cell < LEAST_CELL) layout.cell = LEAST_CELL;
  layout.grid = layout.cell * map->token_count;
  use_font(cairo, LABEL_SIZE, true);
  for (int i = 0; i < map->token_count; i++) {
    double width = text_width(cairo, map->tokens[i]);
    if (width > layout.label_width) layout.label_width = width;
  }
  layout.label_height = layout.label_width * sin(SLANT) + LABEL_GAP;
  layout.grid_top = MARGIN + HEADER_HEIGHT + PANEL_TITLE + layout.label_height;
  layout.width = 2 * MARGIN + map->panel_count * (layout.label_width + LABEL_GAP + layout.grid) +
                 (map->panel_count - 1) * PANEL_GAP + BAR_GAP + BAR_WIDTH + BAR_LABEL_WIDTH;
  layout.height = layout.grid_top + layout.grid + NOTE_HEIGHT + MARGIN / 2;
  return layout;
}

static double panel_left(const struct layout *layout, int panel) {
  double step = layout->label_width + LABEL_GAP + layout->grid + PANEL_GAP;
  return MARGIN + layout->label_width + LABEL_GAP + panel * step;
}

static void draw_labels(cairo_t *cairo, const struct heatmap *map, const struct layout *layout, double left) {
  for (int i = 0; i < map->token_count; i++) {
    double middle = (i + 0.5) * layout->cell;
    bool marked = i == map->marked_row;
    use_font(cairo, LABEL_SIZE, marked);
    use_colour(cairo, marked ? accent : ink);
    write_text(cairo, left - LABEL_GAP, layout->grid_top + middle, 1, map->tokens[i]);
    use_font(cairo, LABEL_SIZE, false);
    use_colour(cairo, ink);
    cairo_save(cairo);
    cairo_translate(cairo, left + middle, layout->grid_top - LABEL_GAP);
    cairo_rotate(cairo, -SLANT);
    write_text(cairo, 0, 0, 0, map->tokens[i]);
    cairo_restore(cairo);
  }
}

static void draw_cell(cairo_t *cairo, const struct layout *layout, double x, double y, double weight) {
  use_colour(cairo, weight_colour(weight));
  cairo_rectangle(cairo, x, y, layout->cell, layout->cell);
  cairo_fill_preserve(cairo);
  cairo_set_source_rgba(cairo, 0, 0, 0, 0.10);
  cairo_set_line_width(cairo, 1);
  cairo_stroke(cairo);
  if (weight < LEAST_WRITTEN || layout->cell < LEAST_NUMBERED) return;
  char text[16];
  snprintf(text, sizeof text, "%.2f", weight);
  use_font(cairo, layout->cell * 0.34, false);
  use_colour(cairo, weight > 0.6 ? (struct colour){1, 1, 1} : ink);
  write_text(cairo, x + layout->cell / 2, y + layout->cell / 2, 0.5, text[0] == '0' ? text + 1 : text);
}

static void draw_panel(cairo_t *cairo, const struct heatmap *map, const struct layout *layout, int panel) {
  double left = panel_left(layout, panel);
  const float *weights = map->panels[panel].weights;
  use_font(cairo, PANEL_SIZE, true);
  use_colour(cairo, ink);
  write_text(cairo, left, MARGIN + HEADER_HEIGHT + PANEL_TITLE / 2 - 6, 0, map->panels[panel].title);
  draw_labels(cairo, map, layout, left);
  for (int row = 0; row < map->token_count; row++)
    for (int column = 0; column < map->token_count; column++)
      draw_cell(cairo, layout, left + column * layout->cell, layout->grid_top + row * layout->cell,
                (double)weights[row * map->token_count + column]);
  if (map->marked_row < 0) return;
  use_colour(cairo, accent);
  cairo_set_line_width(cairo, 2.5);
  cairo_rectangle(cairo, left, layout->grid_top + map->marked_row * layout->cell, layout->grid, layout->cell);
  cairo_stroke(cairo);
}

static void draw_colour_bar(cairo_t *cairo, const struct heatmap *map, const struct layout *layout) {
  double left = panel_left(layout, map->panel_count - 1) + layout->grid + BAR_GAP;
  for (int i = 0; i < (int)layout->grid; i++) {
    use_colour(cairo, weight_colour(1 - i / (layout->grid - 1)));
    cairo_rectangle(cairo, left, layout->grid_top + i, BAR_WIDTH, 1.5);
    cairo_fill(cairo);
  }
  use_colour(cairo, faded);
  cairo_set_line_width(cairo, 1);
  cairo_rectangle(cairo, left, layout->grid_top, BAR_WIDTH, layout->grid);
  cairo_stroke(cairo);
  use_font(cairo, LABEL_SIZE, false);
  use_colour(cairo, ink);
  for (int tick = 0; tick <= 4; tick++) {
    char text[16];
    snprintf(text, sizeof text, "%g", tick / 4.0);
    double y = layout->grid_top + layout->grid * (1 - tick / 4.0);
    cairo_move_to(cairo, left + BAR_WIDTH, y);
    cairo_rel_line_to(cairo, 5, 0);
    cairo_stroke(cairo);
    write_text(cairo, left + BAR_WIDTH + LABEL_GAP, y, 0, text);
  }
  write_text(cairo, left, layout->grid_top - 1.5 * LABEL_SIZE, 0, "weight");
}

/* A long title is written smaller, so that it fits. */
static void write_title(cairo_t *cairo, const char *title, double width) {
  use_font(cairo, TITLE_SIZE, true);
  const double wanted = text_width(cairo, title);
  if (wanted > width) use_font(cairo, TITLE_SIZE * width / wanted, true);
  write_text(cairo, MARGIN, MARGIN + 6, 0, title);
}

static void draw_all(cairo_t *cairo, const struct heatmap *map, const struct layout *layout) {
  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_paint(cairo);
  use_colour(cairo, ink);
  write_title(cairo, map->title, layout->width - 2 * MARGIN);
  use_font(cairo, SUBTITLE_SIZE, false);
  use_colour(cairo, faded);
  write_text(cairo, MARGIN, MARGIN + 38, 0, map->subtitle);
  write_text(cairo, MARGIN, layout->grid_top + layout->grid + NOTE_HEIGHT / 2 + 6, 0, map->note);
  for (int panel = 0; panel < map->panel_count; panel++) draw_panel(cairo, map, layout, panel);
  draw_colour_bar(cairo, map, layout);
}

static const char *write_png(const void *what, const char *path) {
  cairo_surface_t *const *surface = what;
  const cairo_status_t status = cairo_surface_write_to_png(*surface, path);
  return status == CAIRO_STATUS_SUCCESS ? NULL : cairo_status_to_string(status);
}

const char *heatmap_draw(const struct heatmap *map, const char *path) {
  /* The size of the picture depends on the size of its texts, which needs a cairo context. */
  cairo_surface_t *probe = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
  cairo_t *cairo = cairo_create(probe);
  struct layout layout = make_layout(cairo, map);
  cairo_destroy(cairo);
  cairo_surface_destroy(probe);

  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(layout.width + 0.5), (int)(layout.height + 0.5));
  cairo = cairo_create(surface);
  draw_all(cairo, map, &layout);
  const cairo_status_t status = cairo_status(cairo);
  const char *why =
      status == CAIRO_STATUS_SUCCESS ? output_replace(path, write_png, &surface) : cairo_status_to_string(status);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  return why;
}
