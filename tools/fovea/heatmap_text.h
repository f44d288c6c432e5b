/* Heat maps for terminals. */
#ifndef FOVEA_TOOLS_HEATMAP_TEXT_H
#define FOVEA_TOOLS_HEATMAP_TEXT_H

#include "heatmap_words.h"

#include <stdio.h>

/* Prints a character for each cell, the more ink the larger. Title, labels and notes are printed, too. */
void heatmap_print(const heatmap *map, FILE *stream);

#endif
