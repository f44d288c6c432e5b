/* Every length is in pixels. */
#include "heatmap.h"
#include "../sentence/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 22, MARGIN = 24, LABEL = 26, HEADER = 40 };

/* Between white and dark blue. */
static void write_cell(FILE *file, int64_t column, int64_t row, float weight) {
  static const double dark[3] = {13, 56, 122};
  const double part = (double)(weight > 1 ? 1.0f : weight > 0 ? weight : 0.0f); /* NaN is white */
  int colour[3];
  for (int i = 0; i < 3; i++) colour[i] = (int)(255 - part * (255 - dark[i]) + 0.5);
  fprintf(file,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"><title>%.3f</title></rect>\n",
          MARGIN + LABEL + CELL * (int)column, HEADER + LABEL + CELL * (int)row, CELL, CELL, colour[0], colour[1],
          colour[2], (double)weight);
}

/* No letter and no symbol needs an escape in XML. A blank is drawn as a mark, the end as a word. */
static void write_label(FILE *file, double x, double y, char letter) {
  const char text[2] = {letter, 0};
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, letter == ' ' ? "&#9251;" : text);
}

static void write_labels(FILE *file, const struct translation *translation) {
  for (int64_t i = 0; i < translation->letters.count; i++)
    write_label(file, MARGIN + LABEL + CELL * ((double)i + 0.5), HEADER + LABEL - 8,
                letter_of(translation->letters.ids[i]));
  for (int64_t i = 0; i < translation->steps; i++) {
    const double y = HEADER + LABEL + CELL * ((double)i + 0.5) + 5;
    if (translation->answer[i])
      write_label(file, MARGIN + LABEL - 12, y, translation->answer[i]);
    else
      fprintf(file, "<text x=\"%d\" y=\"%.1f\" font-size=\"11\">end</text>\n", MARGIN + LABEL - 14, y);
  }
}

static void write_all(FILE *file, const struct translation *translation) {
  const int width = 2 * MARGIN + LABEL + CELL * (int)translation->letters.count;
  const int height = HEADER + LABEL + CELL * (int)translation->steps + MARGIN;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"DejaVu Sans Mono, "
          "monospace\" font-size=\"15\" text-anchor=\"middle\">\n<rect width=\"100%%\" height=\"100%%\" "
          "fill=\"white\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"17\">%s</text>\n<g "
          "stroke=\"#ddd\">\n",
          width, height, MARGIN, MARGIN + 6, translation->answer);
  for (int64_t row = 0; row < translation->steps; row++)
    for (int64_t column = 0; column < translation->letters.count; column++)
      write_cell(file, column, row, translation->weights[row][column]);
  fputs("</g>\n", file);
  write_labels(file, translation);
  fputs("</svg>\n", file);
}

static const char *write_svg(const void *what, const char *path) {
  const struct translation *translation = what;
  FILE *file = fopen(path, "wb");
  if (!file) return strerror(errno);
  write_all(file, translation);
  const bool written = ferror(file) == 0;
  const int reason = errno;
  if (fclose(file) == 0 && written) return NULL;
  return strerror(written ? errno : reason);
}

bool heatmap_write(const struct translation *translation, const char *path, struct failure *failure) {
  const char *why = output_replace(path, write_svg, translation);
  return !why || refuse(failure, "%s: %s", path, why);
}
