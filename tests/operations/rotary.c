/* Rows that are rotated or converted: rotate(), convert(). */
#include "operation.h"

static void expect_element(fovea_type type, void *elements, int64_t i, float x) {
  if (type == FOVEA_F32)
    ((float *)elements)[i] = rounded_number(FOVEA_F32, x);
  else
    ((uint16_t *)elements)[i] = rounded(type, x);
}

/* In place, or from one array to another, of any types. */
static void try_rotate(const fovea_kernels *table, struct generator *generator) {
  const int count = random_size(generator, 1, FOVEA_ROTATE_PAIRS);
  const int64_t partner = generator_below(generator, 2) == 0 ? 1 : count + generator_below(generator, 70);
  const int64_t step = partner == 1 ? 2 : 1, elements = (count - 1) * step + partner + 1;
  const enum numbers numbers = random_numbers(generator);
  fovea_rotate_args args = {.from_type = random_type(generator), .partner = partner, .pair_count = count};
  void *from = place_elements(args.from_type, elements, numbers);
  args.from = args.to = from;
  args.to_type = args.from_type;
  args.cosines = place_floats(FOVEA_ROTATE_PAIRS, generator_below(generator, 2) ? ORDINARY : FINITE);
  args.sines = place_floats(FOVEA_ROTATE_PAIRS, ORDINARY);
  if (generator_below(generator, 3) > 0) {
    args.to_type = random_type(generator);
    args.to = place_exact_output(args.to_type, elements);
  }
  places_watch();
  table->rotate(&args);
  void *expected = shadow_of(args.to);
  const void *numbers_before = shadow_of(args.from);
  for (int i = 0; i < count; i++) {
    const float x = element(args.from_type, numbers_before, i * step);
    const float y = element(args.from_type, numbers_before, i * step + partner);
    const float cosine = args.cosines[i], sine = args.sines[i];
    expect_element(args.to_type, expected, i * step, fmaf(-y, sine, x * cosine));
    expect_element(args.to_type, expected, i * step + partner, fmaf(y, cosine, x * sine));
  }
  places_check(table->name, "rotate, %d pairs, partner %d, %s to %s", count, (int)partner,
               type_name(args.from_type), type_name(args.to_type));
}

static void test_rotate(void **state) {
  (void)state;
  try_tables(whole_tables(), try_rotate, USUAL_OR_LONG(80, 8000));
}

static void try_convert(const fovea_kernels *table, struct generator *generator) {
  const int64_t count = random_size(generator, 1, 600);
  fovea_convert_args args = {
      .from_type = random_type(generator), .to_type = random_type(generator), .count = count};
  args.from = place_elements(args.from_type, count, random_numbers(generator));
  args.to = place_exact_output(args.to_type, count);
  places_watch();
  table->convert(&args);
  for (int64_t i = 0; i < count; i++)
    expect_element(args.to_type, shadow_of(args.to), i, element(args.from_type, args.from, i));
  places_check(table->name, "convert, %d elements, %s to %s", (int)count, type_name(args.from_type),
               type_name(args.to_type));
}

/* Every number of 16 bits, and the f32 numbers beside it and half-way to the next. */
static void try_roundings(const fovea_kernels *table, struct generator *generator) {
  enum { COUNT = 512 };
  const fovea_type type = generator_below(generator, 2) == 0 ? FOVEA_F16 : FOVEA_BF16;
  const uint32_t first = (uint32_t)generator_below(generator, 65536 - COUNT / 4);
  float *from = place_elements(FOVEA_F32, COUNT, ORDINARY);
  for (uint32_t i = 0; i < COUNT / 4; i++) {
    const uint32_t bits = widened(type, (uint16_t)(first + i)), next = widened(type, (uint16_t)(first + i + 1));
    const uint32_t middle = bits + (next - bits) / 2;
    from[4 * i] = from_bits(bits);
    from[4 * i + 1] = from_bits(middle - 1);
    from[4 * i + 2] = from_bits(middle);
    from[4 * i + 3] = from_bits(middle + 1);
  }
  uint16_t *to = place_exact_output(type, COUNT);
  places_watch();
  table->convert(&(fovea_convert_args){from, to, FOVEA_F32, type, COUNT});
  for (int i = 0; i < COUNT; i++) expect_element(type, shadow_of(to), i, from[i]);
  places_check(table->name, "convert, f32 to %s from %04x on", type_name(type), first);
}

static void test_convert(void **state) {
  (void)state;
  try_tables(whole_tables(), try_convert, USUAL_OR_LONG(100, 8000));
  try_tables(whole_tables(), try_roundings, USUAL_OR_LONG(150, 8000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotate),
      cmocka_unit_test(test_convert),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
