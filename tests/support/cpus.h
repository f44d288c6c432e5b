/* Sets how many CPUs this process may use. With one CPU, plans make few large tasks, so that small problems take
 * the paths of large ones on every machine. */
#ifndef FOVEA_TESTS_CPUS_H
#define FOVEA_TESTS_CPUS_H

/* Both return whether the system did so. macOS has no such call. */
int cpus_use_one(void);
int cpus_use_all(void);

/* How many CPUs this process may use now; 0 if the system does not tell. */
int cpus_allowed(void);

#endif
