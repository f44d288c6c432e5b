#include "png.h"

#include <stdlib.h>

/* Bytes of chunks that grow while they are made. */
typedef struct bytes {
  uint8_t *data;
  size_t count, capacity;
  bool failed;   /* out of memory: what comes is dropped */
  uint32_t bits; /* not yet whole bytes, the first is the lowest */
  int bit_count;
} bytes;

static void put_byte(bytes *to, uint8_t byte) {
  if (to->count == to->capacity && !to->failed) {
    const size_t capacity = to->capacity > 0 ? 2 * to->capacity : 4096;
    uint8_t *larger = realloc(to->data, capacity);
    to->failed = !larger;
    if (larger) {
      to->data = larger;
      to->capacity = capacity;
    }
  }
  if (!to->failed) to->data[to->count++] = byte;
}

static void put_number(bytes *to, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) put_byte(to, (uint8_t)(number >> shift & 0xff));
}

/* ---- Deflate (RFC 1951), one block with fixed codes, whose matches repeat the byte before -------------------- */

static void put_bits(bytes *to, uint32_t bits, int count) {
  to->bits |= bits << to->bit_count;
  to->bit_count += count;
  for (; to->bit_count >= 8; to->bit_count -= 8, to->bits >>= 8) put_byte(to, (uint8_t)(to->bits & 0xff));
}

/* Codes begin with their highest bit. */
static void put_code(bytes *to, uint32_t code, int count) {
  for (int bit = count - 1; bit >= 0; bit--) put_bits(to, code >> bit & 1, 1);
}

/* A byte, the end of the block (256), or a length (257 to 285). */
static void put_symbol(bytes *to, uint32_t symbol) {
  if (symbol < 144)
    put_code(to, 0x30 + symbol, 8);
  else if (symbol < 256)
    put_code(to, 0x190 + symbol - 144, 9);
  else if (symbol < 280)
    put_code(to, symbol - 256, 7);
  else
    put_code(to, 0xc0 + symbol - 280, 8);
}

/* The last byte once more, `length` times: 3 to 258. */
static void put_match(bytes *to, int length) {
  enum { LEAST = 3, MOST = 258, FIRST = 257, LAST = 285 };
  if (length == MOST) {
    put_symbol(to, LAST);
  } else {
    const int more = length - LEAST; /* lengths of eight codes share a number of extra bits, then of four */
    int extra = 0;
    while (more >> (extra + 3)) extra++;
    const int group = extra > 0 ? 4 * extra + (more >> extra) : more;
    put_symbol(to, (uint32_t)(FIRST + group));
    put_bits(to, (uint32_t)more & ((1u << extra) - 1), extra);
  }
  put_code(to, 0, 5); /* distance 1 */
}

static void put_run(bytes *to, uint8_t byte, size_t count) {
  put_symbol(to, byte);
  for (count--; count >= 3;) {
    size_t length = count < 258 ? count : 258;
    put_match(to, (int)length);
    count -= length;
  }
  for (; count > 0; count--) put_symbol(to, byte);
}

/* ---- The picture --------------------------------------------------------------------------------------------- */

/* Each row is the difference to the row before, which is 0 where the picture repeats itself. */
static uint8_t filtered(const uint8_t *pixels, int width, int64_t row, int64_t place) {
  enum { UP = 2 };
  if (place == 0) return UP;
  const uint8_t *at = pixels + row * width + place - 1;
  return (uint8_t)(row > 0 ? *at - at[-width] : *at);
}

/* A zlib stream (RFC 1950) of the filtered rows. */
static void put_pixels(bytes *to, int width, int height, const uint8_t *pixels) {
  enum { MODULUS = 65521 };
  uint32_t low = 1, high = 0; /* Adler's checksum */
  int last = -1;
  size_t run = 0;
  put_byte(to, 0x78);
  put_byte(to, 0x01);
  put_bits(to, 1, 1); /* the last block, ... */
  put_bits(to, 1, 2); /* ... fixed codes */
  for (int64_t row = 0; row < height; row++)
    for (int64_t place = 0; place <= width; place++) {
      const uint8_t byte = filtered(pixels, width, row, place);
      low = (low + byte) % MODULUS;
      high = (high + low) % MODULUS;
      if (byte != last && run > 0) {
        put_run(to, (uint8_t)last, run);
        run = 0;
      }
      last = byte;
      run++;
    }
  put_run(to, (uint8_t)last, run);
  put_symbol(to, 256);
  if (to->bit_count > 0) put_bits(to, 0, 8 - to->bit_count);
  put_number(to, high << 16 | low);
}

static uint32_t checksum(uint32_t sum, const uint8_t *data, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sum ^= data[i];
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  return sum;
}

static void write_number(FILE *stream, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) fputc((int)(number >> shift & 0xff), stream);
}

static void write_chunk(FILE *stream, const char *name, const uint8_t *data, size_t count) {
  uint32_t sum = checksum(0xffffffffu, (const uint8_t *)name, 4);
  sum = checksum(sum, data, count) ^ 0xffffffffu;
  write_number(stream, (uint32_t)count);
  fwrite(name, 1, 4, stream);
  fwrite(data, 1, count, stream);
  write_number(stream, sum);
}

bool png_write(FILE *stream, int width, int height, const uint8_t *pixels, const png_palette *palette) {
  static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  bytes header = {.data = NULL}, data = {.data = NULL};
  put_number(&header, (uint32_t)width);
  put_number(&header, (uint32_t)height);
  put_byte(&header, 8); /* bits of a pixel, ... */
  put_byte(&header, 3); /* ... a place in the palette; then the only methods there are, and no interlacing */
  for (int i = 0; i < 3; i++) put_byte(&header, 0);
  put_pixels(&data, width, height, pixels);
  const bool made = !header.failed && !data.failed;
  if (made) {
    fwrite(signature, 1, sizeof signature, stream);
    write_chunk(stream, "IHDR", header.data, header.count);
    write_chunk(stream, "PLTE", palette->colours[0], 3 * (size_t)palette->count);
    write_chunk(stream, "IDAT", data.data, data.count);
    write_chunk(stream, "IEND", signature, 0);
  }
  free(header.data);
  free(data.data);
  return made && !ferror(stream);
}
