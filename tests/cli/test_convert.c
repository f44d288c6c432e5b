/* The command's conversions of numbers: every f16 and every bf16 number, and the f32 numbers around the middle
 * between each two neighbours. */
#include "support/check.h"
#include "tools/fovea/convert.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* One of the 16-bit types: its conversions, and the bits of its infinity. */
struct narrow_type {
  uint16_t (*narrow)(float);
  float (*widen)(uint16_t);
  uint16_t infinite;
};

static const struct narrow_type f16 = {f16_from_f32, f32_from_f16, 0x7c00};
static const struct narrow_type bf16 = {bf16_from_f32, f32_from_bf16, 0x7f80};

/* The same for the number with the other sign. */
static void assert_narrows(const struct narrow_type *type, float number, uint16_t expected) {
  assert_int_equal(type->narrow(number), expected);
  assert_int_equal(type->narrow(-number), expected | 0x8000);
}

static void assert_every_number(const struct narrow_type *type) {
  for (uint16_t low = 0; low < type->infinite; low++) {
    const uint16_t high = (uint16_t)(low + 1);
    const float from = type->widen(low), to = type->widen(high);
    /* Beyond the largest number, the middle to where the next one would be if there were no infinity. */
    const float step = high == type->infinite ? from - type->widen((uint16_t)(low - 1)) : to - from;
    const float middle = from + step * 0.5f;
    assert_true(bits_of(type->widen((uint16_t)(low | 0x8000))) == (bits_of(from) | 0x80000000u));
    assert_narrows(type, from, low);
    assert_narrows(type, nextafterf(middle, 0.0f), low);
    assert_narrows(type, middle, low % 2 == 0 ? low : high);
    assert_narrows(type, nextafterf(middle, INFINITY), high);
  }
  assert_true(isinf(type->widen(type->infinite)));
  assert_narrows(type, INFINITY, type->infinite);
  assert_narrows(type, 0x1.fffffep+127f, type->infinite);
  for (unsigned bits = type->infinite + 1u; bits < 0x8000; bits++) {
    const float number = type->widen((uint16_t)bits);
    assert_true(isnan(number));
    assert_true(isnan(type->widen(type->narrow(number))));
    assert_true(isnan(type->widen(type->narrow(-number))));
  }
}

static void test_f16(void **state) {
  (void)state;
  assert_every_number(&f16);
  assert_true(f32_from_f16(0x3c00) == 1.0f && f32_from_f16(0x0001) == 0x1p-24f && f32_from_f16(0x7bff) == 65504.0f);
  assert_narrows(&f16, 0x1p-149f, 0);
  assert_narrows(&f16, 0x1p-26f, 0);
}

static void test_bf16(void **state) {
  (void)state;
  assert_every_number(&bf16);
  assert_true(f32_from_bf16(0x3f80) == 1.0f && f32_from_bf16(0x0001) == 0x1p-133f);
  assert_narrows(&bf16, 0x1p-149f, 0);
}

static void test_arrays(void **state) {
  (void)state;
  static const fovea_type types[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  const float numbers[] = {0.0f, 1.5f, -2.0f, 0x1p-14f, 192.0f}; /* exact in every type */
  enum { COUNT = sizeof numbers / sizeof numbers[0] };
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      float first[COUNT], second[COUNT], back[COUNT];
      convert_numbers(first, types[i], numbers, FOVEA_F32, COUNT);
      convert_numbers(second, types[j], first, types[i], COUNT);
      convert_numbers(back, FOVEA_F32, second, types[j], COUNT);
      assert_memory_equal(back, numbers, sizeof numbers);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f16),
      cmocka_unit_test(test_bf16),
      cmocka_unit_test(test_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
