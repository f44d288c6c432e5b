#include "picture.h"

#include "layout.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <string.h>

enum { INK = 0x22262e, NOTE = 0x6b7280, FRAME = 0x888888, HOLE = 0xb8b8b8, PAPER = 0xffffff };

/* ---- Colours ------------------------------------------------------------------------------------------------- */

enum { SPANS = 4, SPAN = 32, LEVELS = SPANS * SPAN }; /* of the scale, which is linear in each span */

/* White to dark blue; the lightness falls evenly. */
static const int stops[SPANS + 1][3] = {
    {255, 255, 255}, {199, 222, 242}, {122, 179, 222}, {48, 122, 189}, {13, 56, 122}};

static uint32_t colour_of_level(int level) {
  const int span = level < LEVELS ? level / SPAN : SPANS - 1, part = level - span * SPAN;
  uint32_t colour = 0;
  for (int i = 0; i < 3; i++)
    colour =
        colour << 8 | (uint32_t)((stops[span][i] * (SPAN - part) + stops[span + 1][i] * part + SPAN / 2) / SPAN);
  return colour;
}

static uint32_t colour_of(float weight, float full) {
  if (isnan(weight)) return HOLE;
  return colour_of_level(weight >= full ? LEVELS : (int)((double)weight / (double)full * LEVELS + 0.5));
}

static void use_colour(cairo_t *pen, uint32_t colour) {
  cairo_set_source_rgb(pen, (colour >> 16) / 255.0, (colour >> 8 & 0xff) / 255.0, (colour & 0xff) / 255.0);
}

/* ---- Parts of the picture ------------------------------------------------------------------------------------ */

static void draw_text(cairo_t *pen, double x, double y, double size, const char *text) {
  cairo_set_font_size(pen, size);
  cairo_move_to(pen, x, y);
  cairo_show_text(pen, text);
}

/* A frame around a rectangle, outside of it. */
static void draw_frame(cairo_t *pen, int left, int top, int width, int height, int thickness, uint32_t colour) {
  const double half = thickness / 2.0;
  use_colour(pen, colour);
  cairo_set_line_width(pen, thickness);
  cairo_rectangle(pen, left - half, top - half, width + thickness, height + thickness);
  cairo_stroke(pen);
}

/* Rows of pixels as a picture, each pixel `width` times `height` units: whole ones, so that no edge is blurred. */
static void draw_pixels(cairo_t *pen, int left, int top, int columns, int lines, int width, int height,
                        uint32_t (*colour_at)(const void *of, int column, int line), const void *of) {
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns * width, lines * height);
  const int step = cairo_image_surface_get_stride(image);
  unsigned char *pixels = cairo_image_surface_get_data(image);
  for (int y = 0; pixels && y < lines * height; y++)
    for (int x = 0; x < columns * width; x++)
      ((uint32_t *)(void *)(pixels + (size_t)y * (size_t)step))[x] = colour_at(of, x / width, y / height);
  cairo_surface_mark_dirty(image);
  cairo_set_source_surface(pen, image, left, top); /* also takes the error of an image that has no memory */
  cairo_pattern_set_filter(cairo_get_source(pen), CAIRO_FILTER_NEAREST);
  cairo_rectangle(pen, left, top, columns * width, lines * height);
  cairo_fill(pen);
  cairo_surface_destroy(image);
}

static void draw_row_labels(cairo_t *pen, const axis *axis, int left, int top) {
  for (int64_t i = 0; i < axis->cells; i += axis->step) {
    const label label = heatmap_label(axis->tokens, i, axis->factor);
    draw_text(pen, left - LABEL_GAP - text_width(pen, LABEL_SIZE, label.text),
              top + (int)i * axis->cell + axis->cell / 2.0 + 4, LABEL_SIZE, label.text);
  }
}

/* Turned, so that long ones do not meet. */
static void draw_key_labels(cairo_t *pen, const axis *axis, int left, int top) {
  for (int64_t i = 0; i < axis->cells; i += axis->step) {
    cairo_save(pen);
    cairo_translate(pen, left + (int)i * axis->cell + axis->cell / 2.0 + 4, top - LABEL_GAP);
    cairo_rotate(pen, -1.57079632679489661923); /* a quarter turn */
    draw_text(pen, 0, 0, LABEL_SIZE, heatmap_label(axis->tokens, i, axis->factor).text);
    cairo_restore(pen);
  }
}

typedef struct panel_cells {
  const heatmap *map;
  const float *cells;
} panel_cells;

static uint32_t colour_of_cell(const void *of, int column, int line) {
  const panel_cells *panel = of;
  return colour_of(panel->cells[line * panel->map->panels->cell_keys + column], panel->map->full);
}

static void draw_panel(cairo_t *pen, const heatmap *map, const layout *layout, int panel) {
  const panel_set *panels = map->panels;
  const axis *rows = &layout->rows, *keys = &layout->keys;
  const int left = layout->left + panel % layout->panels_in_line * (layout->panel_width + PANEL_GAP);
  const int top = layout->top + panel / layout->panels_in_line * (layout->panel_height + PANEL_GAP);
  const panel_cells cells = {map, panels->cells + panel * panels->cell_rows * panels->cell_keys};
  const char *font = map->font ? map->font : "DejaVu Sans";
  use_colour(pen, INK);
  cairo_select_font_face(pen, font, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
  if (panels->has_heads)
    draw_text(pen, left, top - keys->labels - 2 * LABEL_GAP - 2, LABEL_SIZE, heatmap_name(map, panel).text);
  cairo_select_font_face(pen, font, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  draw_row_labels(pen, rows, left, top);
  draw_key_labels(pen, keys, left, top);
  draw_pixels(pen, left, top, (int)keys->cells, (int)rows->cells, keys->cell, rows->cell, colour_of_cell, &cells);
  draw_frame(pen, left, top, keys->length, rows->length, 1, FRAME);
  if (map->marks)
    draw_frame(pen, left, top + (int)(map->marked_row / panels->row_factor) * rows->cell, keys->length, rows->cell,
               2, INK);
}

static uint32_t colour_of_bar(const void *of, int column, int line) {
  const layout *layout = of;
  (void)column;
  return colour_of_level(LEVELS - line * LEVELS / (layout->bar_height - 1));
}

static void draw_bar(cairo_t *pen, const heatmap *map, const layout *layout) {
  const int left = layout->bar_left, top = layout->top, height = layout->bar_height;
  draw_pixels(pen, left, top, 1, height, BAR_WIDTH, 1, colour_of_bar, layout);
  draw_frame(pen, left, top, BAR_WIDTH, height, 1, FRAME);
  use_colour(pen, INK);
  for (int tick = 0; tick <= BAR_TICKS; tick++) {
    char text[32];
    const bool cut = map->panels->largest > map->full && tick == BAR_TICKS;
    snprintf(text, sizeof text, "%s%.3g", cut ? "\xe2\x89\xa5 " : "", (double)map->full * tick / BAR_TICKS);
    draw_text(pen, left + BAR_WIDTH + LABEL_GAP, top + height - height * tick / BAR_TICKS + 4, LABEL_SIZE, text);
  }
}

static void draw_all(cairo_t *pen, const heatmap *map, const layout *layout) {
  use_colour(pen, PAPER);
  cairo_paint(pen);
  use_colour(pen, INK);
  if (map->title) draw_text(pen, MARGIN, MARGIN + 14, TITLE_SIZE, make_label_of(map->title, TITLE_LIMIT).text);
  for (int panel = 0; panel < map->panels->count; panel++) draw_panel(pen, map, layout, panel);
  draw_bar(pen, map, layout);
  use_colour(pen, NOTE);
  for (int i = 0; i < layout->note_count; i++)
    draw_text(pen, MARGIN, layout->notes_top + i * NOTE_HEIGHT + 11, LABEL_SIZE, layout->notes[i].text);
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

static cairo_status_t write_bytes(void *stream, const unsigned char *bytes, unsigned count) {
  return fwrite(bytes, 1, count, stream) == count ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static cairo_t *make_pen(cairo_surface_t *surface, const heatmap *map) {
  cairo_t *pen = cairo_create(surface);
  cairo_font_options_t *options = cairo_font_options_create();
  /* Letters are as wide in every kind of picture. */
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(pen, options);
  cairo_font_options_destroy(options);
  cairo_select_font_face(pen, map->font ? map->font : "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  return pen;
}

static cairo_surface_t *make_surface(const char *path, FILE *stream, int width, int height) {
  if (ends_with(path, ".png")) return cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  if (ends_with(path, ".pdf")) {
    cairo_surface_t *pdf = cairo_pdf_surface_create_for_stream(write_bytes, stream, width, height);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, ""); /* the same map, the same bytes */
    return pdf;
  }
  cairo_surface_t *svg = cairo_svg_surface_create_for_stream(write_bytes, stream, width, height);
  cairo_svg_surface_set_document_unit(svg, CAIRO_SVG_UNIT_PX);
  return svg;
}

const char *picture_draw(const heatmap *map, const char *path, FILE *stream) {
  cairo_surface_t *nothing = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
  cairo_t *measuring = make_pen(nothing, map);
  const layout layout = lay_out(map, measuring);
  cairo_status_t status = cairo_status(measuring);
  cairo_destroy(measuring);
  cairo_surface_destroy(nothing);
  if (status) return cairo_status_to_string(status);

  cairo_surface_t *surface = make_surface(path, stream, layout.width, layout.height);
  cairo_t *pen = make_pen(surface, map);
  draw_all(pen, map, &layout);
  status = cairo_status(pen);
  cairo_destroy(pen);
  if (!status && ends_with(path, ".png")) status = cairo_surface_write_to_png_stream(surface, write_bytes, stream);
  cairo_surface_finish(surface);
  if (!status) status = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  return status ? cairo_status_to_string(status) : NULL;
}
