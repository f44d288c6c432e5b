#include "check.h"

#include <stdlib.h>
#include <string.h>

static bool check_line(const struct model *model, char *line, int threads, wrong_answer *wrong, struct tally *tally,
                       struct failure *failure) {
  struct translation translation;
  char *tab = strchr(line, '\t');
  if (!tab) return refuse(failure, "there is no tab");
  *tab = 0;
  const char *wanted = tab + 1;
  if (!is_date(wanted)) return refuse(failure, "what follows the tab is no date as YYYY-MM-DD");
  if (!translate(model, line, threads, &translation, failure)) return false;
  const bool right = strcmp(translation.answer, wanted) == 0;
  tally->count++;
  tally->right += right;
  if (!right && wrong) wrong(line, translation.answer, wanted);
  return true;
}

/* Cuts a text that ends with a zero into its lines. */
static bool check_lines(const struct model *model, const char *path, char *text, int threads, wrong_answer *wrong,
                        struct tally *tally, struct failure *failure) {
  for (int64_t number = 1; *text; number++) {
    char *end = text + strcspn(text, "\r\n"), *next = end + strspn(end, "\r");
    struct failure why = {""};
    if (*next == '\n') next++;
    *end = 0;
    if (!check_line(model, text, threads, wrong, tally, &why))
      return refuse(failure, "%s, line %lld: %.300s", path, (long long)number, why.text);
    text = next;
  }
  return true;
}

bool check_file(const struct model *model, const char *path, int threads, wrong_answer *wrong, struct tally *tally,
                struct failure *failure) {
  struct file file;
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
  if (done) done = check_lines(model, path, text, threads, wrong, tally, failure);
  if (done && tally->count == 0) done = refuse(failure, "%s: it has no lines", path);
  free(text);
  file_free(&file);
  return done;
}
