#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* What a first byte asks for: bytes that follow, and the limits of the second byte, which exclude overlong forms,
 * surrogates and what is above U+10FFFF. */
struct lead {
  int more;
  unsigned char low, high;
};

static struct lead lead_of(unsigned char first) {
  if (first < 0xc2 || first > 0xf4) return (struct lead){0, 0, 0};
  if (first < 0xe0) return (struct lead){1, 0x80, 0xbf};
  if (first < 0xf0) return (struct lead){2, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf};
  return (struct lead){3, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf};
}

bool utf8_read(const char **next, const char *end, uint32_t *point) {
  const unsigned char first = (unsigned char)*(*next)++;
  *point = first;
  if (first < 0x80) return true;
  struct lead lead = lead_of(first);
  *point = lead.more == 1 ? first & 0x1f : lead.more == 2 ? first & 0x0f : first & 0x07;
  int read = 0;
  for (; read < lead.more && *next < end; read++) {
    const unsigned char byte = (unsigned char)**next;
    if (byte < lead.low || byte > lead.high) break;
    *point = *point << 6 | (byte & 0x3f);
    lead.low = 0x80;
    lead.high = 0xbf;
    (*next)++;
  }
  if (lead.more > 0 && read == lead.more) return true;
  *point = UTF8_REPLACEMENT;
  return false;
}

size_t utf8_write(uint32_t point, char bytes[UTF8_LONGEST]) {
  if (point < 0x80) {
    bytes[0] = (char)point;
    return 1;
  }
  const size_t count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = count - 1; i > 0; i--, point >>= 6) bytes[i] = (char)(0x80 | (point & 0x3f));
  bytes[0] = (char)(leads[count] | point);
  return count;
}

char *utf8_repaired(const char *text) {
  const size_t size = strlen(text), most = 3; /* bytes of UTF8_REPLACEMENT for one */
  const char *next = text, *end = text + size;
  char *copy = malloc(most * size + 1), *to = copy;
  while (copy && next < end) {
    uint32_t point;
    utf8_read(&next, end, &point);
    to += utf8_write(point, to);
  }
  if (copy) *to = 0;
  return copy;
}
