/* The picture, drawn with cairo. Every length is in pixels. */
#include "picture.h"
#include "../sentence/output.h"
#include "digits.h"

#include <cairo.h>
#include <stdio.h>

#define FONT       "DejaVu Sans"
#define PIXEL      26.0 /* side of a pixel of the digit */
#define MARGIN     20.0
#define GAP        24.0
#define TITLE_SIZE 17.0
#define LABEL_SIZE 13.0
#define TOP        76.0 /* of the panels, below title and labels */
#define DOT        0.55 /* of a pixel that is drawn over a weight */
#define PATCH      (PIXEL * PATCH_SIDE)
#define PANEL      (PIXEL * IMAGE_SIDE)
#define WIDTH      (2 * MARGIN + 2 * GAP + 3 * PANEL)
#define HEIGHT     (TOP + PANEL + MARGIN)

struct range {
  double least, most;
};

static void write_text(cairo_t *cairo, double x, double y, double size, const char *text) {
  cairo_set_font_size(cairo, size);
  cairo_move_to(cairo, x, y);
  cairo_show_text(cairo, text);
}

/* The digit, each pixel as a square of that side in the middle of its place. */
static void draw_digit(cairo_t *cairo, const unsigned char *image, double left, double side) {
  const double edge = (PIXEL - side) / 2;
  for (int i = 0; i < IMAGE_PIXELS; i++) {
    const int x = i % IMAGE_SIDE, y = i / IMAGE_SIDE;
    cairo_set_source_rgba(cairo, 1, 1, 1, (double)image[i] / BRIGHTEST);
    cairo_rectangle(cairo, left + x * PIXEL + edge, TOP + y * PIXEL + edge, side, side);
    cairo_fill(cairo);
  }
}

/* The patches, from dark for the least weight to orange for the largest. */
static void draw_weights(cairo_t *cairo, const float weights[PATCHES], const struct range *range, double left) {
  for (int i = 0; i < PATCHES; i++) {
    const int x = i % PATCH_STEPS, y = i / PATCH_STEPS;
    const double span = range->most - range->least;
    const double part = span > 0 ? ((double)weights[i] - range->least) / span : 0;
    cairo_set_source_rgb(cairo, 0.05 + 0.90 * part, 0.08 + 0.37 * part, 0.20 - 0.18 * part);
    cairo_rectangle(cairo, left + x * PATCH, TOP + y * PATCH, PATCH, PATCH);
    cairo_fill(cairo);
  }
}

static struct range range_of(const float weights[PATCHES]) {
  struct range range = {(double)weights[0], (double)weights[0]};
  for (int i = 1; i < PATCHES; i++) {
    if ((double)weights[i] < range.least) range.least = (double)weights[i];
    if ((double)weights[i] > range.most) range.most = (double)weights[i];
  }
  return range;
}

static void draw_panel(cairo_t *cairo, const struct picture *picture, const char *name, const float *weights,
                       double left) {
  const struct range range = weights ? range_of(weights) : (struct range){0, 0};
  static const float none[PATCHES];
  char label[64];
  snprintf(label, sizeof label, "%s", name);
  if (weights) snprintf(label, sizeof label, "%s: %.0f to %.0f %%", name, 100 * range.least, 100 * range.most);
  cairo_set_source_rgb(cairo, 0.13, 0.15, 0.18);
  write_text(cairo, left, TOP - 9, LABEL_SIZE, label);
  draw_weights(cairo, weights ? weights : none, &range, left);
  draw_digit(cairo, picture->image, left, weights ? PIXEL * DOT : PIXEL);
}

static void draw_all(cairo_t *cairo, const struct picture *picture) {
  const double step = PANEL + GAP;
  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_paint(cairo);
  cairo_select_font_face(cairo, FONT, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_source_rgb(cairo, 0.13, 0.15, 0.18);
  write_text(cairo, MARGIN, MARGIN + TITLE_SIZE, TITLE_SIZE, picture->title);
  draw_panel(cairo, picture, "the digit", NULL, MARGIN);
  draw_panel(cairo, picture, "last layer", picture->last_layer, MARGIN + step);
  draw_panel(cairo, picture, "all layers (rollout)", picture->rollout, MARGIN + 2 * step);
}

static const char *write_png(const void *what, const char *path) {
  cairo_surface_t *const *surface = what;
  const cairo_status_t status = cairo_surface_write_to_png(*surface, path);
  return status == CAIRO_STATUS_SUCCESS ? NULL : cairo_status_to_string(status);
}

const char *picture_draw(const struct picture *picture, const char *path) {
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)WIDTH, (int)HEIGHT);
  cairo_t *cairo = cairo_create(surface);
  draw_all(cairo, picture);
  const cairo_status_t status = cairo_status(cairo);
  const char *why =
      status == CAIRO_STATUS_SUCCESS ? output_replace(path, write_png, &surface) : cairo_status_to_string(status);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  return why;
}
