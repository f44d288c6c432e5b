/* Every length is in pixels. */
#include "picture.h"

#include "../sentence/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 620, MARGIN = 40, TITLE = 34, RADIUS = 13 };

struct picture {
  const struct club *club;
  const struct answers *answers;
  const float *weights;
  int64_t heads;
};

/* Coordinates and weights are written in tenths and thousandths, from whole numbers: no locale changes them. */
static void write_tenths(FILE *file, const char *name, double x) {
  const int tenths = (int)(x * 10 + 0.5);
  fprintf(file, " %s=\"%d.%d\"", name, tenths / 10, tenths % 10);
}

static double x_of(const struct club *club, int64_t node) {
  return MARGIN + ((double)club->places[2 * node] + 1) / 2 * (SIDE - 2 * MARGIN);
}

static double y_of(const struct club *club, int64_t node) {
  return TITLE + MARGIN + ((double)club->places[2 * node + 1] + 1) / 2 * (SIDE - 2 * MARGIN);
}

/* The mean over heads of what `to` takes from edge `edge`. */
static double weight_of(const struct picture *picture, int64_t edge) {
  double sum = 0;
  for (int64_t h = 0; h < picture->heads; h++) sum += (double)picture->weights[edge * picture->heads + h];
  return sum / (double)picture->heads;
}

/* Half of an edge, the one at its destination, is as thick as the weight that the destination gives it. */
static void write_half(FILE *file, const struct picture *picture, int64_t from, int64_t to, int64_t edge) {
  const struct club *club = picture->club;
  const double weight = weight_of(picture, edge);
  const int thousandths = (int)(weight * 1000 + 0.5);
  fputs("<line", file);
  write_tenths(file, "x1", (x_of(club, from) + x_of(club, to)) / 2);
  write_tenths(file, "y1", (y_of(club, from) + y_of(club, to)) / 2);
  write_tenths(file, "x2", x_of(club, to));
  write_tenths(file, "y2", y_of(club, to));
  write_tenths(file, "stroke-width", 0.4 + 16 * weight);
  fprintf(file, "><title>%lld takes %d.%03d of %lld</title></line>\n", (long long)to, thousandths / 1000,
          thousandths % 1000, (long long)from);
}

static void write_node(FILE *file, const struct picture *picture, int64_t node) {
  static const char *const colours[PARTS] = {"#2f6fb0", "#d9822b"};
  const struct club *club = picture->club;
  const int answer = answer_of(picture->answers, node), right = answer == club->parts[node];
  fprintf(file, "<circle r=\"%d\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%d\"%s", RADIUS, colours[answer],
          right ? (club->labelled[node] ? "black" : "white") : "#c00020", right && !club->labelled[node] ? 1 : 4,
          right ? "" : " stroke-dasharray=\"5 3\"");
  write_tenths(file, "cx", x_of(club, node));
  write_tenths(file, "cy", y_of(club, node));
  fputs("/>\n<text", file);
  write_tenths(file, "x", x_of(club, node));
  write_tenths(file, "y", y_of(club, node) + 4);
  fprintf(file, ">%lld</text>\n", (long long)node);
}

static void write_all(FILE *file, const struct picture *picture) {
  const struct club *club = picture->club;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"DejaVu Sans, "
          "sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n<rect width=\"100%%\" height=\"100%%\" "
          "fill=\"white\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"14\">What members take from "
          "their friends, and the part each is put in</text>\n<g stroke=\"#555\" stroke-opacity=\"0.55\">\n",
          SIDE, SIDE + TITLE, MARGIN / 2, TITLE - 6);
  for (int64_t to = 0; to < club->nodes; to++)
    for (int64_t i = club->edge_starts[to]; i < club->edge_starts[to + 1]; i++)
      if (club->edge_sources[i] != to) write_half(file, picture, club->edge_sources[i], to, i);
  fputs("</g>\n<g fill=\"white\">\n", file);
  for (int64_t node = 0; node < club->nodes; node++) write_node(file, picture, node);
  fputs("</g>\n</svg>\n", file);
}

static const char *write_svg(const void *what, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return strerror(errno);
  write_all(file, what);
  const bool written = ferror(file) == 0;
  const int reason = errno;
  if (fclose(file) == 0 && written) return NULL;
  return strerror(written ? errno : reason);
}

bool picture_write(const struct club *club, const struct answers *answers, const float *weights, int64_t heads,
                   const char *path, struct failure *failure) {
  const struct picture picture = {club, answers, weights, heads};
  const char *why = output_replace(path, write_svg, &picture);
  return !why || refuse(failure, "%s: %s", path, why);
}
