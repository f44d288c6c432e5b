/* How many CPUs this process may use. With one, plans make few large tasks, so that the paths of large problems are
 * taken by small ones, on every machine. */
#ifndef FOVEA_TESTS_CPUS_H
#define FOVEA_TESTS_CPUS_H

/* Both return whether the system could be told. macOS has nothing of the kind. */
int cpus_use_one(void);
int cpus_use_all(void);

/* How many CPUs this process may use at present; 0 where the system does not tell. */
int cpus_allowed(void);

#endif
