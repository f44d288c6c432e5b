/* A bar on stderr, if that is a terminal; else nothing is written. */
#ifndef MINILM_PROGRESS_H
#define MINILM_PROGRESS_H

#include <stdint.h>

/* Draws the bar anew; `done` of `all` steps are done. */
void progress_show(const char *what, int64_t done, int64_t all);

/* Wipes it off. */
void progress_end(void);

#endif
