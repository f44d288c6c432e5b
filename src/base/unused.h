/* Refuses settings that no step would read. The text names the setting, and the field that it needs or that
 * replaces it. If such settings were ignored in silence, the answer would belong to another problem. Fields of
 * problems and tensors are in src/feature. */
#ifndef FOVEA_SRC_BASE_UNUSED_H
#define FOVEA_SRC_BASE_UNUSED_H

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>

fovea_status fovea_refuse_unused_execution(const fovea_execution *execution, fovea_error *error);
fovea_status fovea_refuse_unused_scratch(const fovea_execution *execution, fovea_error *error);
fovea_status fovea_refuse_unused_angles(const fovea_rotary *rotary, fovea_error *error);
fovea_status fovea_refuse_unused_axes(const fovea_rotary *rotary, fovea_error *error);
fovea_status fovea_refuse_unused_positions(const fovea_rotation *rotation, fovea_error *error);
fovea_status fovea_refuse_unused_position(const fovea_new_rows *rows, int with_rotary, fovea_error *error);

#endif
