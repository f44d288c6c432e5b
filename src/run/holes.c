#include "holes.h"

#include "../pattern/node.h"

int64_t fovea_skip_holes(const fovea_sequence *sequence, const fovea_visible_tile *visible, int64_t block) {
  while (block != FOVEA_NO_BLOCK) {
    const int64_t held = fovea_next_held(sequence, fovea_most(block, visible->any.begin));
    if (held >= visible->any.end) return FOVEA_NO_BLOCK;
    if (held < block + FOVEA_BLOCK_KEYS) return block;
    block = fovea_next_block(visible, held / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS);
  }
  return block;
}

/* Sets the bits of positions begin to end - 1, counted from the block's first. */
static void add_bits(fovea_row_words *words, int64_t begin, int64_t end) {
  for (int i = 0; i < FOVEA_BLOCK_KEYS / FOVEA_WORD_KEYS; i++)
    words->of[i] |= fovea_bits_between(begin - i * FOVEA_WORD_KEYS, end - i * FOVEA_WORD_KEYS);
}

int fovea_holds_block(const fovea_sequence *sequence, fovea_interval keys, int64_t base, fovea_row_words *held) {
  const fovea_segment *segment = fovea_find_segment(sequence, base);
  const fovea_segment *const last = fovea_segment_at(sequence, sequence->count);
  fovea_row_words wanted = {{0, 0}};
  *held = wanted;
  for (; segment < last && segment->first < base + FOVEA_BLOCK_KEYS;
       segment = fovea_segment_after(sequence, segment))
    add_bits(held, segment->first - base, segment->first + segment->rows - base);
  add_bits(&wanted, keys.begin - base, keys.end - base);
  return !((wanted.of[0] & ~held->of[0]) | (wanted.of[1] & ~held->of[1]));
}
