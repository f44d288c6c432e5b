/* How far a run is: a bar in the last line of the terminal, on stderr. Nothing where stderr is no terminal. */
#ifndef FOVEA_BENCH_PROGRESS_H
#define FOVEA_BENCH_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

void progress_begin(int steps);

/* The step that begins; nothing if it is the one that is shown. */
void progress_show(const char *step);

/* Takes the bar away, for a line that is to stand in its place. */
void progress_clear(void);

#ifdef __cplusplus
}
#endif

#endif
