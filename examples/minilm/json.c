#include "json.h"
#include "utf8.h"

static void skip_space(struct json *json) {
  while (json->next < json->end &&
         (*json->next == ' ' || *json->next == '\t' || *json->next == '\n' || *json->next == '\r'))
    json->next++;
}

bool json_take(struct json *json, char sign) {
  skip_space(json);
  if (json->next == json->end || *json->next != sign) return false;
  json->next++;
  return true;
}

bool json_ends(struct json *json) {
  skip_space(json);
  return json->next == json->end;
}

size_t json_place(const struct json *json) {
  return (size_t)(json->next - json->begin);
}

/* Four hexadecimal digits. */
static bool read_unit(struct json *json, uint32_t *unit) {
  *unit = 0;
  if (json->end - json->next < 4) return false;
  for (int i = 0; i < 4; i++) {
    const char digit = *json->next++;
    uint32_t value;
    if (digit >= '0' && digit <= '9')
      value = (uint32_t)(digit - '0');
    else if (digit >= 'a' && digit <= 'f')
      value = (uint32_t)(digit - 'a') + 10;
    else if (digit >= 'A' && digit <= 'F')
      value = (uint32_t)(digit - 'A') + 10;
    else
      return false;
    *unit = *unit << 4 | value;
  }
  return true;
}

/* What follows \u: a code point, or the two units of a surrogate pair. */
static bool read_code_point(struct json *json, uint32_t *point) {
  uint32_t low;
  if (!read_unit(json, point)) return false;
  if (*point < 0xd800 || *point > 0xdfff) return *point != 0;
  if (*point > 0xdbff || json->end - json->next < 2 || json->next[0] != '\\' || json->next[1] != 'u') return false;
  json->next += 2;
  if (!read_unit(json, &low) || low < 0xdc00 || low > 0xdfff) return false;
  *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

/* What follows a backslash. */
static bool read_escape(struct json *json, uint32_t *point) {
  static const char signs[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (json->next == json->end) return false;
  const char sign = *json->next++;
  if (sign == 'u') return read_code_point(json, point);
  for (int i = 0; signs[i]; i++)
    if (signs[i] == sign) {
      *point = (unsigned char)meant[i];
      return true;
    }
  return false;
}

bool json_string(struct json *json, char *text, size_t room) {
  size_t length = 0;
  if (!json_take(json, '"')) return false;
  while (json->next < json->end && *json->next != '"') {
    uint32_t point;
    if (*json->next == '\\') {
      json->next++;
      if (!read_escape(json, &point)) return false;
    } else if (!utf8_read(&json->next, json->end, &point) || point < 0x20) {
      return false;
    }
    char bytes[UTF8_LONGEST];
    const size_t count = utf8_write(point, bytes);
    if (length + count >= room) return false;
    for (size_t i = 0; i < count; i++) text[length++] = bytes[i];
  }
  if (json->next == json->end || length >= room) return false;
  json->next++;
  text[length] = 0;
  return true;
}

bool json_whole(struct json *json, int64_t *number) {
  skip_space(json);
  const char *first = json->next;
  *number = 0;
  for (; json->next < json->end && *json->next >= '0' && *json->next <= '9'; json->next++) {
    const int64_t digit = *json->next - '0';
    if (*number > (INT64_MAX - digit) / 10) return false;
    *number = 10 * *number + digit;
  }
  const int64_t digits = json->next - first;
  return digits > 0 && (digits == 1 || *first != '0');
}
