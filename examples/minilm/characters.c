#include "characters.h"

#include <stddef.h>

struct span {
  uint32_t first, last;
};

struct run {
  uint32_t first, last, to;
  uint8_t step, growth;
};

struct several {
  uint32_t from, first, second, third; /* the third may be 0: there are two */
};

#include "characters.inc"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool is_in(uint32_t point, const struct span *spans, size_t count) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (spans[middle].last < point)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && spans[low].first <= point;
}

/* Runs with a step of 2 overlap, so all that begin before the point are looked at. */
static uint32_t image(uint32_t point) {
  for (size_t i = 0; i < COUNT(runs) && runs[i].first <= point; i++) {
    const uint32_t distance = point - runs[i].first;
    if (point <= runs[i].last && distance % runs[i].step == 0)
      return runs[i].to + distance / runs[i].step * runs[i].growth;
  }
  return point;
}

/* Hangul syllables become two or three jamo, by the Unicode standard (3.12). */
static int decompose_hangul(uint32_t point, uint32_t to[CHARACTER_IMAGES]) {
  const uint32_t vowels = 21, trails = 28, syllable = point - 0xac00;
  to[0] = 0x1100 + syllable / (vowels * trails);
  to[1] = 0x1161 + syllable / trails % vowels;
  to[2] = 0x11a7 + syllable % trails;
  return syllable % trails == 0 ? 2 : 3;
}

static int between_spaces(uint32_t point, uint32_t to[CHARACTER_IMAGES]) {
  to[0] = to[2] = ' ';
  to[1] = point;
  return 3;
}

int character_images(uint32_t point, uint32_t to[CHARACTER_IMAGES]) {
  if (is_in(point, dropped, COUNT(dropped))) return 0;
  if (point >= 0xac00 && point <= 0xd7a3) return decompose_hangul(point, to);
  const uint32_t *next = unified;
  for (size_t i = 0; i < COUNT(compatible); next += compatible[i].last + 1 - compatible[i].first, i++)
    if (point >= compatible[i].first && point <= compatible[i].last)
      return between_spaces(next[point - compatible[i].first], to);
  if (is_in(point, ideographs, COUNT(ideographs))) return between_spaces(point, to);
  for (size_t i = 0; i < COUNT(several); i++)
    if (point == several[i].from) {
      to[0] = several[i].first, to[1] = several[i].second, to[2] = several[i].third;
      return to[2] == 0 ? 2 : 3;
    }
  to[0] = is_in(point, spaces, COUNT(spaces)) ? ' ' : image(point);
  return 1;
}

bool character_stands_alone(uint32_t point) {
  return is_in(point, punctuation, COUNT(punctuation));
}
