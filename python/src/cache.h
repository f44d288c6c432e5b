/* Caches of keys and values: contiguous, paged and rings, with memory of their own. */
#ifndef FOVEA_PYTHON_CACHE_H
#define FOVEA_PYTHON_CACHE_H

#include "compute.h"
#include "rotary.h"
#include "values.h"

#include <fovea/format.h>

#include <memory>
#include <string>

namespace fovea_python {

/* The sequences of a cache at one time. Calls keep it while they compute, so that new rows do not take it away. Or
 * sequences within tensors that have padding. */
struct cache_view {
  std::vector<fovea_segment> segments;
  std::vector<fovea_sequence> sequences;
  std::vector<int64_t> lens, begins; /* begins: of rings, else empty */
  std::vector<int64_t> offsets;      /* of tensors with padding, else empty */
  int64_t longest = 0;
};

enum class cache_kind { contiguous, paged, ring };

/* What a cache is made of, beside its kind. */
struct cache_sizes {
  int64_t batch, pages, page_rows, kv_heads, qk_dim, v_dim, layers;
};
struct cache_options {
  nb::handle dtype, format; /* one, or a pair, of keys and of values */
  bool panels;
  nb::handle k_scale, v_scale;
  nb::handle memory; /* None, or a pair of tensors */
  nb::handle lens;   /* rows that the memory has already */
  bool values;       /* false: values are the first dims of the keys */
};

class cache {
public:
  cache(cache_kind kind, const cache_sizes &sizes, const cache_options &options);

  int64_t batch() const { return batch_; }
  const fovea_pages &pages() const { return pages_; }
  std::shared_ptr<const cache_view> view() const { return std::atomic_load(&view_); }

  /* Adds rows to the sequences, with layer 0, or writes the rows of other layers for the positions that were added. */
  void append(nb::handle k, nb::handle v, int64_t layer, nb::handle rotary, nb::handle row_lens,
              nb::handle rotary_positions, nb::handle hadamard, int threads);
  void truncate(nb::handle lens);
  void fork(int64_t from, int64_t to);
  void move(int64_t sequence, int64_t begin, int64_t end, int64_t to, nb::handle rotary, nb::handle rotate_by,
            int64_t hadamard, int threads);
  int64_t free_pages() const { return pool_.free_count; }
  size_t bytes() const { return bytes_; }

private:
  friend class cache_step;
  void set_side(bool values, nb::handle format, nb::handle scale, nb::handle memory);
  void *allocate(int64_t bytes);
  void *take(nb::handle memory, bool values, int64_t bytes);
  void begin_with(nb::handle lens);
  void share_keys();
  std::shared_ptr<const cache_view> view_of(const std::vector<int64_t> &lens) const;
  void extend(const std::vector<int64_t> &ends, const char *name);

  cache_kind kind_;
  int64_t batch_;
  fovea_pages pages_;
  fovea_format formats_[2]; /* of keys, of values, if pages_ points to them */
  struct release {
    void operator()(void *memory) const;
  };
  std::vector<std::unique_ptr<void, release>> memory_;
  tensor given_[2]; /* keys and values in memory of the caller */
  std::vector<nb::object> kept_;
  size_t bytes_ = 0;
  std::vector<int64_t> before_last_; /* lengths before the last rows were added */
  std::shared_ptr<const cache_view> view_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;

  /* Paged: row b of tables_ has the pages of sequence b. */
  fovea_page_pool pool_ = {nullptr, 0, 0, 0};
  std::vector<int32_t> references_, tables_;
  std::vector<int64_t> page_counts_;
};

/* A step of a cache: rows are added to its sequences, or another layer writes the rows that layer 0 has added last.
 * `name` is the argument that has the rows. Unless the rows are kept, the cache is as before. */
class cache_step {
public:
  cache_step(cache &cache, int64_t layer, const std::vector<int64_t> &rows, const char *name);
  void keep(); /* the rows are written */

  std::vector<int64_t> begins;            /* the positions of each sequence's first new row */
  std::shared_ptr<const cache_view> view; /* with the new rows */

private:
  turn turn_;
  cache &cache_;
};

void bind_cache(nb::module_ &module);

} // namespace fovea_python

#endif
