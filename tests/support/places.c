#include "places.h"

#include "guarded.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 20, ROOM = 1 << 18, SLACK = 2048, FILLING = 0xa5 };
enum kind { AS_BITS, AS_NUMBERS };

struct place {
  struct guarded memory; /* of ROOM bytes */
  unsigned char *data, *shadow;
  size_t size;
  enum kind kind;
};

static struct place places[PLACES];
static int used;
static struct generator *chance;

void places_begin(struct generator *generator) {
  chance = generator;
  used = 0;
}

/* The bytes before and after a place's array that are compared. */
static unsigned char *slack_begin(const struct place *place) {
  return place->data - place->memory.data < SLACK ? place->memory.data : place->data - SLACK;
}

static unsigned char *slack_end(const struct place *place) {
  unsigned char *end = place->data + place->size, *last = place->memory.data + ROOM;
  return last - end < SLACK ? last : end + SLACK;
}

static unsigned char *place(int64_t bytes, enum kind kind) {
  if (used == PLACES || bytes > ROOM || bytes < 0) abort();
  struct place *place = &places[used++];
  if (place->memory.data == NULL) {
    place->memory = guarded_create(ROOM, GUARD_AT_END);
    place->shadow = malloc(ROOM);
    if (place->shadow == NULL) abort();
  }
  const int at_end = generator_below(chance, 4) > 0;
  place->size = (size_t)bytes;
  place->kind = kind;
  place->data = place->memory.data + (at_end ? ROOM - place->size : 0);
  memset(slack_begin(place), FILLING, (size_t)(slack_end(place) - slack_begin(place)));
  return place->data;
}

float random_number(struct generator *generator, enum numbers numbers) {
  static const uint32_t edges[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                                   0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                   0x7fc00000, 0xffc00000, 0x7fc12345, 0xffd00001};
  if (numbers == ORDINARY) return generator_uniform(generator);
  const int choice = (int)generator_below(generator, 8);
  if (choice == 0) return from_bits(edges[generator_below(generator, numbers == ANY ? 16 : 10)]);
  if (choice > 1) return ldexpf(generator_uniform(generator), (int)generator_below(generator, 60) - 30);
  const uint32_t bits = (uint32_t)generator_bits(generator);
  return from_bits((bits & 0x7f800000u) == 0x7f800000u ? bits & 0xbfffffffu : bits);
}

enum numbers random_numbers(struct generator *generator) {
  static const enum numbers kinds[] = {ORDINARY, ORDINARY, FINITE, ANY};
  return kinds[generator_below(generator, 4)];
}

float *place_floats(int64_t count, enum numbers numbers) {
  float *floats = (float *)(void *)place(count * 4, AS_NUMBERS);
  for (int64_t i = 0; i < count; i++) floats[i] = random_number(chance, numbers);
  return floats;
}

/* Finite halves, or numbers of [-1, 1) rounded. */
static uint16_t random_half(fovea_type type, enum numbers numbers) {
  const uint16_t bits = (uint16_t)generator_bits(chance);
  if (numbers == ORDINARY) return rounded(type, generator_uniform(chance));
  const uint16_t exponent = type == FOVEA_BF16 ? 0x7f80 : 0x7c00;
  return numbers == FINITE && (bits & exponent) == exponent ? (uint16_t)(bits & 0xbfffu) : bits;
}

void *place_elements(fovea_type type, int64_t count, enum numbers numbers) {
  if (type == FOVEA_F32) {
    float *floats = place_floats(count, numbers);
    places[used - 1].kind = AS_BITS;
    return floats;
  }
  uint16_t *halves = (uint16_t *)(void *)place(count * 2, AS_BITS);
  for (int64_t i = 0; i < count; i++) halves[i] = random_half(type, numbers);
  return halves;
}

const void **place_pointers(int64_t count) {
  return (const void **)(void *)place(count * (int64_t)sizeof(void *), AS_BITS);
}

int32_t *place_integers(int64_t count) {
  return (int32_t *)(void *)place(count * 4, AS_BITS);
}

unsigned char *place_bytes(int64_t count) {
  unsigned char *bytes = place(count, AS_BITS);
  for (int64_t i = 0; i < count; i++) bytes[i] = (unsigned char)generator_bits(chance);
  return bytes;
}

float *place_output(int64_t count) {
  return memset(place(count * 4, AS_NUMBERS), FILLING, (size_t)count * 4);
}

void *place_exact_output(fovea_type type, int64_t count) {
  const size_t bytes = (size_t)count * type_size(type);
  return memset(place((int64_t)bytes, AS_BITS), FILLING, bytes);
}

void places_watch(void) {
  for (int i = 0; i < used; i++) memcpy(places[i].shadow, places[i].data, places[i].size);
}

void *shadow_of(const void *element) {
  const unsigned char *byte = element;
  for (int i = 0; i < used; i++)
    if (byte >= places[i].data && byte < places[i].data + places[i].size)
      return places[i].shadow + (byte - places[i].data);
  abort();
}

void shadow_ignores(const void *from, int64_t bytes) {
  if (bytes > 0) memcpy(shadow_of(from), from, (size_t)bytes);
}

void shadow_takes_zeros(const float *from, int64_t count) {
  float *shadow = shadow_of(from);
  for (int64_t i = 0; i < count; i++)
    if (shadow[i] == 0.0f && from[i] == 0.0f) memcpy(&shadow[i], &from[i], sizeof *from);
}

static int is_nan_at(const unsigned char *bytes) {
  uint32_t bits;
  memcpy(&bits, bytes, sizeof bits);
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* The first word or byte that differs; -1: none. */
static int64_t difference(const struct place *place) {
  if (memcmp(place->data, place->shadow, place->size) == 0) return -1;
  const size_t step = place->kind == AS_NUMBERS ? 4 : 1;
  for (size_t i = 0; i < place->size; i += step) {
    if (memcmp(place->data + i, place->shadow + i, step) == 0) continue;
    if (place->kind == AS_BITS || !is_nan_at(place->data + i) || !is_nan_at(place->shadow + i)) return (int64_t)i;
  }
  return -1;
}

static int is_filling(const unsigned char *byte, const unsigned char *end) {
  for (; byte < end; byte++)
    if (*byte != FILLING) return 0;
  return 1;
}

static void check_place(const struct place *place, int number, const char *what) {
  if (!is_filling(slack_begin(place), place->data) || !is_filling(place->data + place->size, slack_end(place)))
    fail_msg("%s: array %d was written beyond its ends", what, number);
  const int64_t at = difference(place);
  if (at < 0) return;
  const size_t word = (size_t)at & ~(size_t)3, left = place->size - word;
  uint32_t actual = 0, expected = 0;
  memcpy(&actual, place->data + word, left < 4 ? left : 4);
  memcpy(&expected, place->shadow + word, left < 4 ? left : 4);
  fail_msg("%s: array %d, byte %lld: %08x (%a), not %08x (%a)", what, number, (long long)at, actual,
           (double)from_bits(actual), expected, (double)from_bits(expected));
}

void places_check(const char *table, const char *format, ...) {
  char what[256];
  const int length = snprintf(what, sizeof what, "%s: ", table);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what + length, sizeof what - (size_t)length, format, arguments);
  va_end(arguments);
  for (int i = 0; i < used; i++) check_place(&places[i], i, what);
}
