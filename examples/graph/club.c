#include "club.h"

#include <string.h>

/* A tensor of this type and shape; columns 0: a vector. Its elements are aligned, since the file says no less. */
static const void *take(const struct club *club, const char *name, const char *type, int64_t rows, int64_t columns,
                        size_t size, struct failure *failure) {
  const struct stored_tensor *tensor = safetensors_find(&club->file, name);
  const char *path = club->file.path;
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", path, name), NULL;
  const bool fits = strcmp(tensor->type, type) == 0 && tensor->rank == (columns ? 2 : 1) &&
                    tensor->shape[0] == rows && (columns == 0 || tensor->shape[1] == columns);
  const char *data = club->file.data + tensor->begin;
  if (!fits) return refuse(failure, "%s: %s has another type or shape", path, name), NULL;
  if ((uintptr_t)data % size != 0) return refuse(failure, "%s: %s is not aligned", path, name), NULL;
  return data;
}

static bool check_edges(const struct club *club, struct failure *failure) {
  const char *path = club->file.path;
  for (int64_t i = 0; i <= club->nodes; i++) {
    const int64_t before = i > 0 ? club->edge_starts[i - 1] : 0, start = club->edge_starts[i];
    if (start < before || start > club->edges || (i == 0 && start != 0) ||
        (i == club->nodes && start != club->edges))
      return refuse(failure, "%s: edge_starts: number %lld is %lld", path, (long long)i, (long long)start);
  }
  for (int64_t i = 0; i < club->edges; i++)
    if (club->edge_sources[i] < 0 || club->edge_sources[i] >= club->nodes)
      return refuse(failure, "%s: edge_sources: number %lld is %lld", path, (long long)i,
                    (long long)club->edge_sources[i]);
  return true;
}

static bool check_nodes(const struct club *club, struct failure *failure) {
  for (int64_t i = 0; i < club->nodes; i++) {
    if (club->parts[i] >= PARTS || club->labelled[i] > 1)
      return refuse(failure, "%s: clubs or labelled: number %lld is none", club->file.path, (long long)i);
    for (int d = 0; d < 2; d++)
      if (!(club->places[2 * i + d] >= -1 && club->places[2 * i + d] <= 1))
        return refuse(failure, "%s: places: row %lld is not from -1 to 1", club->file.path, (long long)i);
  }
  return true;
}

static int64_t length_of(const struct club *club, const char *name) {
  const struct stored_tensor *tensor = safetensors_find(&club->file, name);
  return tensor && tensor->rank == 1 ? tensor->shape[0] : -1;
}

static bool take_all(struct club *club, struct failure *failure) {
  club->nodes = length_of(club, "clubs");
  club->edges = length_of(club, "edge_sources");
  if (club->nodes < 1 || club->nodes > NODE_LIMIT || club->edges < 0 || club->edges > EDGE_LIMIT)
    return refuse(failure, "%s: it has no nodes or edges, or too many", club->file.path);
  const int64_t n = club->nodes;
  return (club->edge_starts = take(club, "edge_starts", "I64", n + 1, 0, 8, failure)) &&
         (club->edge_sources = take(club, "edge_sources", "I64", club->edges, 0, 8, failure)) &&
         (club->parts = take(club, "clubs", "U8", n, 0, 1, failure)) &&
         (club->labelled = take(club, "labelled", "U8", n, 0, 1, failure)) &&
         (club->places = take(club, "places", "F32", n, 2, 4, failure)) && check_edges(club, failure) &&
         check_nodes(club, failure);
}

bool club_read(struct club *club, const char *path, struct failure *failure) {
  *club = (struct club){.nodes = 0};
  const bool read = safetensors_read(&club->file, path, failure) && take_all(club, failure);
  if (!read) club_free(club);
  return read;
}

void club_free(struct club *club) {
  safetensors_free(&club->file);
  *club = (struct club){.nodes = 0};
}
