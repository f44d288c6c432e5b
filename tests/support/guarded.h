/* Memory between two inaccessible pages: reading or writing one byte past the end that touches a page ends the
 * test. */
#ifndef FOVEA_TESTS_GUARDED_H
#define FOVEA_TESTS_GUARDED_H

#include <stddef.h>

/* Which end of the buffer touches its guard page. */
enum guarded_edge { GUARD_AT_END, GUARD_AT_START };

struct guarded {
  unsigned char *data; /* `size` bytes, filled with 0xa5 outside of them too */
  size_t size;
  unsigned char *mapping;
  size_t mapping_size;
};

/* The size must be a multiple of the alignment that data is to have; 0 bytes are allowed. */
struct guarded guarded_create(size_t size, enum guarded_edge edge);
/* Memory without guards that is there only where it is touched; data is NULL where the system has none of that
 * size.
 */
struct guarded guarded_create_sparse(size_t size);
void guarded_destroy(struct guarded *memory);

/* From now on writing anywhere ends the test. */
void guarded_make_read_only(const struct guarded *memory);

/* Whether the slack between the buffer and the page border still holds its filling. */
int guarded_slack_intact(const struct guarded *memory);

#endif
