#include "operand_maker.h"

#include "mode_operands.h"

fovea_operand_maker fovea_operand_maker_of(const fovea_task_context *context) {
  const fovea_plan *plan = context->plan;
  return (fovea_operand_maker){
      .plan = plan,
      .keys = &context->keys,
      .values = &context->values,
      .channels = &context->channels,
      .scales = &context->terms.scales,
      .memory = &context->memory,
      .score_half = FOVEA_BUILDS_MODES && plan->scores ? &fovea_mode_scores : &fovea_exact_scores,
      .value_half = FOVEA_BUILDS_MODES && plan->values ? &fovea_mode_values : &fovea_exact_values};
}
