#define _XOPEN_SOURCE 700 /* pthread_attr_setstack() */
#include "painted.h"

#include "check.h"

#include <fovea/fovea.h>
#include <pthread.h>
#include <string.h>

/* Far more than any call may use. */
enum { STACK_BYTES = 1 << 18, WORDS = STACK_BYTES / 8, PAINT = 0xa5 };
static _Alignas(4096) uint64_t stack[WORDS];

struct call {
  void (*act)(void *context);
  void *context;
  const char *top; /* of the stack, where the call begins */
};

static void *run(void *context) {
  struct call *call = context;
  call->top = __builtin_frame_address(0);
  call->act(call->context);
  return NULL;
}

static void run_on(const pthread_attr_t *attributes, struct call *call) {
  pthread_t thread;
  if (pthread_create(&thread, attributes, run, call) != 0)
    fail_msg("no thread on a stack of %d bytes", STACK_BYTES);
  pthread_join(thread, NULL);
}

size_t painted_bytes(void (*act)(void *context), void *context) {
  struct call call = {act, context, NULL};
  if (!STACKS_ARE_MEASURED) {
    run_on(NULL, &call);
    return 0;
  }
  pthread_attr_t attributes;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
  memset(stack, PAINT, sizeof stack);
  run_on(&attributes, &call);
  pthread_attr_destroy(&attributes);
  const uint64_t *lowest = stack;
  while (*lowest == PAINT * UINT64_C(0x0101010101010101)) lowest++;
  return (size_t)(call.top - (const char *)lowest);
}

void assert_small_stack(const char *name, void (*act)(void *context), void *context) {
  const size_t bytes = painted_bytes(act, context);
  if (bytes >= FOVEA_STACK_SIZE) fail_msg("%s: %d bytes of stack", name, (int)bytes);
}
