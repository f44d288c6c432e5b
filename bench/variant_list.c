/* The variants, and what their calls share. */
#include "variants.h"
#include "workload.h"

#include <stdlib.h>

enum { NUMBERS = 16 };

const variant *const variant_list[] = {&variant_exact,
                                       &variant_exact_causal,
                                       &variant_window,
                                       &variant_longformer,
                                       &variant_bigbird,
                                       &variant_reformer,
                                       &variant_linformer,
                                       &variant_performer,
                                       &variant_performer_causal,
                                       &variant_linear,
                                       &variant_gated,
                                       &variant_delta,
                                       &variant_gated_delta,
                                       &variant_selected,
                                       &variant_differential,
                                       &variant_latent,
                                       &variant_latent_absorbed,
                                       &variant_graph,
                                       NULL};

/* What a call holds beside what callers see. */
typedef struct whole_call {
  variant_call call;
  float *numbers[NUMBERS];
  int count;
} whole_call;

float *variant_draw(size_t count, uint32_t seed, float scale) {
  float *numbers = bench_allocate(count * sizeof *numbers);
  uint32_t state = seed;
  for (size_t i = 0; numbers && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * scale;
  }
  return numbers;
}

float *variant_numbers(variant_call *call, size_t count, uint32_t seed, float scale) {
  whole_call *whole = (whole_call *)call;
  float *numbers = whole->count < NUMBERS ? variant_draw(count, seed, scale) : NULL;
  if (!numbers) return NULL;
  call->bytes += count * sizeof *numbers;
  return whole->numbers[whole->count++] = numbers;
}

int variant_scratch(variant_call *call, size_t bytes) {
  call->execution.scratch = bench_allocate(bytes + (bytes == 0));
  call->execution.scratch_size = bytes;
  call->bytes += bytes;
  return call->execution.scratch != NULL;
}

variant_call *variant_begin(const variant *variant, const variant_call *sizes) {
  whole_call *whole = calloc(1, sizeof *whole);
  if (!whole) return NULL;
  whole->call = *sizes;
  whole->call.variant = variant;
  fovea_execution_init(&whole->call.execution);
  whole->call.execution.threads = sizes->threads;
  if (variant->begin(&whole->call)) return &whole->call;
  variant_end(&whole->call);
  return NULL;
}

fovea_status variant_run(const variant_call *call) {
  return call->variant->run(call);
}

void variant_end(variant_call *call) {
  whole_call *whole = (whole_call *)call;
  if (!call) return;
  call->variant->end(call);
  free(call->execution.scratch);
  for (int i = 0; i < whole->count; i++) free(whole->numbers[i]);
  free(whole);
}
