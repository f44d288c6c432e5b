/* How many CPUs this process may use. With one, plans make few large tasks, so that the paths of large problems are
 * taken by small ones, on every machine. */
#ifndef FOVEA_TESTS_CPUS_H
#define FOVEA_TESTS_CPUS_H

void cpus_use_one(void);
void cpus_use_all(void);

#endif
