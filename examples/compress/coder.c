#include "coder.h"

#include <stdlib.h>

#define TOP    (UINT64_C(1) << 56)
#define BOTTOM (UINT64_C(1) << 48)

static void put(struct coder *coder, unsigned char byte) {
  if (coder->count == coder->room && !coder->lost) {
    const size_t room = 2 * coder->room + 4096;
    unsigned char *larger = realloc(coder->bytes, room);
    coder->lost = !larger;
    if (larger) coder->bytes = larger, coder->room = room;
  }
  if (!coder->lost) coder->bytes[coder->count++] = byte;
}

/* After the last byte come zeros. */
static uint64_t get(struct coder *coder) {
  const size_t at = coder->room++;
  return at < coder->count ? coder->bytes[at] : 0;
}

/* Whether the first byte of the range is settled, or the range is so small that it is cut to settle it. */
static bool is_settled(struct coder *coder) {
  if ((coder->low ^ (coder->low + coder->range)) < TOP) return true;
  if (coder->range >= BOTTOM) return false;
  coder->range = (0 - coder->low) & (BOTTOM - 1);
  return true;
}

static void narrow(struct coder *coder, uint64_t before, uint64_t chance) {
  coder->low += before * coder->range;
  coder->range *= chance;
}

void coder_begin(struct coder *coder) {
  *coder = (struct coder){.range = UINT64_MAX};
}

void coder_encode(struct coder *coder, uint64_t before, uint64_t chance, uint64_t total) {
  coder->range /= total;
  narrow(coder, before, chance);
  while (is_settled(coder)) {
    put(coder, (unsigned char)(coder->low >> 56));
    coder->low <<= 8;
    coder->range <<= 8;
  }
}

void coder_end(struct coder *coder) {
  for (int i = 0; i < 8; i++, coder->low <<= 8) put(coder, (unsigned char)(coder->low >> 56));
}

void coder_open(struct coder *coder, unsigned char *bytes, size_t count) {
  *coder = (struct coder){.range = UINT64_MAX, .bytes = bytes, .count = count};
  for (int i = 0; i < 8; i++) coder->code = coder->code << 8 | get(coder);
}

uint64_t coder_number(struct coder *coder, uint64_t total) {
  coder->range /= total;
  const uint64_t number = (coder->code - coder->low) / coder->range;
  return number < total ? number : total - 1; /* only of a damaged file */
}

void coder_take(struct coder *coder, uint64_t before, uint64_t chance) {
  narrow(coder, before, chance);
  while (is_settled(coder)) {
    coder->code = coder->code << 8 | get(coder);
    coder->low <<= 8;
    coder->range <<= 8;
  }
}

bool coder_has_more(const struct coder *coder) {
  return coder->room <= coder->count;
}

bool coder_is_done(const struct coder *coder) {
  return coder->room == coder->count && coder->code == coder->low;
}
