/* Arithmetic coding of choices by integer chances, with ranges of 64 bits (a range coder without carries, after
 * D. Subbotin, 1999). All arithmetic is of integers. */
#ifndef COMPRESS_CODER_H
#define COMPRESS_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Encodes into bytes that grow, or decodes from bytes that are there. Zeros are an encoder. */
struct coder {
  uint64_t low, range, code;
  unsigned char *bytes;
  size_t count, room; /* of bytes; a decoder's `room` is how many it has taken, which may be more than there are */
  bool lost;          /* an encoder without memory */
};

void coder_begin(struct coder *coder);
/* A choice that begins at `before` of `total`, and has `chance`, at least 1; total is below 2^48. */
void coder_encode(struct coder *coder, uint64_t before, uint64_t chance, uint64_t total);
void coder_end(struct coder *coder);

void coder_open(struct coder *coder, unsigned char *bytes, size_t count);
/* A number from 0 to total - 1 within the next choice, which coder_take() then takes. */
uint64_t coder_number(struct coder *coder, uint64_t total);
void coder_take(struct coder *coder, uint64_t before, uint64_t chance);
/* Whether a decoder has taken no more bytes than there are. */
bool coder_has_more(const struct coder *coder);
/* Whether a decoder has taken all of its bytes, and no more, and the last are those that coder_end() wrote. */
bool coder_is_done(const struct coder *coder);

#endif
