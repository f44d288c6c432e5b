/* The progress of a run: a bar in the last line of the terminal, on stderr. Nothing if stderr is no terminal. */
#ifndef FOVEA_BENCH_PROGRESS_H
#define FOVEA_BENCH_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

void progress_begin(int steps);

/* Shows the step that begins, if it is not shown already. */
void progress_show(const char *step);

/* Removes the bar, so that a line can be printed in its place. */
void progress_clear(void);

#ifdef __cplusplus
}
#endif

#endif
