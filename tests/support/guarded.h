/* Memory between two inaccessible pages. A test ends if it reads or writes a byte past the end that touches a page.
 */
#ifndef FOVEA_TESTS_GUARDED_H
#define FOVEA_TESTS_GUARDED_H

#include <stddef.h>

/* Which end of the buffer touches its guard page. */
enum guarded_edge { GUARD_AT_END, GUARD_AT_START };

struct guarded {
  unsigned char *data; /* `size` bytes; they and all bytes around them are 0xa5 */
  size_t size;
  unsigned char *mapping;
  size_t mapping_size;
};

/* The size must be a multiple of the alignment that data needs; 0 bytes are allowed. */
struct guarded guarded_create(size_t size, enum guarded_edge edge);
/* Memory without guards that exists only where it is touched. If the system has none of that size, data is NULL. */
struct guarded guarded_create_sparse(size_t size);
void guarded_destroy(struct guarded *memory);

/* After this, any write ends the test. */
void guarded_make_read_only(const struct guarded *memory);

/* Whether the bytes between the buffer and the page border are still 0xa5. */
int guarded_slack_intact(const struct guarded *memory);

#endif
