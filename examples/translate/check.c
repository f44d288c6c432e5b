#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Cuts a line at its tab, and checks both parts. */
static bool cut_line(char *line, const char **wanted, struct failure *failure) {
  struct letters letters;
  char *tab = strchr(line, '\t');
  if (!tab) return refuse(failure, "there is no tab");
  *tab = 0;
  *wanted = tab + 1;
  if (!is_date(*wanted)) return refuse(failure, "what follows the tab is no date as YYYY-MM-DD");
  return letters_read(&letters, line, failure);
}

/* Cuts a text that ends with a zero into its lines, and counts them. After each line, and in it after what is to
 * be translated, is a zero. */
static bool cut_lines(const char *path, char *text, int64_t *count, struct failure *failure) {
  for (*count = 0; *text; (*count)++) {
    char *end = text + strcspn(text, "\r\n"), *next = end + strspn(end, "\r");
    const char *wanted;
    struct failure why = {""};
    if (*next == '\n') next++;
    memset(end, 0, (size_t)(next - end));
    if (!cut_line(text, &wanted, &why))
      return refuse(failure, "%s, line %lld: %.300s", path, (long long)*count + 1, why.text);
    text = next;
  }
  return *count > 0 || refuse(failure, "%s: it has no lines", path);
}

/* Translates lines that were cut. */
static bool translate_lines(const struct model *model, const char *text, int64_t count, int threads,
                            wrong_answer *wrong, struct tally *tally, struct failure *failure) {
  for (; tally->count < count; tally->count++) {
    struct translation translation;
    const char *wanted = text + strlen(text) + 1;
    if (!translate(model, text, threads, &translation, failure)) return false;
    const bool right = strcmp(translation.answer, wanted) == 0;
    tally->right += right;
    if (!right && wrong) wrong(text, translation.answer, wanted);
    for (text = wanted + strlen(wanted); tally->count + 1 < count && !*text;) text++;
  }
  return true;
}

bool check_file(const struct model *model, const char *path, int threads, wrong_answer *wrong, struct tally *tally,
                struct failure *failure) {
  struct file file;
  int64_t count = 0;
  *tally = (struct tally){0, 0};
  if (!file_read(&file, path, failure)) return false;
  char *text = malloc(file.size + 1);
  bool done = text != NULL;
  if (!done) refuse(failure, "no memory for %s", path);
  if (done) {
    memcpy(text, file.bytes, file.size);
    text[file.size] = 0;
    done = strlen(text) == file.size || refuse(failure, "%s: it has a byte 0, so it is no text", path);
  }
  done = done && cut_lines(path, text, &count, failure) &&
         translate_lines(model, text, count, threads, wrong, tally, failure);
  free(text);
  file_free(&file);
  return done;
}
