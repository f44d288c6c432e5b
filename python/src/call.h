/* One call of attention: what Python gives, as the library's structs. */
#ifndef FOVEA_PYTHON_CALL_H
#define FOVEA_PYTHON_CALL_H

#include "cache.h"
#include "options.h"

#include <fovea/terms.h>

#include <forward_list>

namespace fovea_python {

/* An output beside O: where it lies, and the object that Python gets. */
struct output {
  nb::object object;
  tensor memory;
};

/* What attention(), a plan and a run of it are given. The structs point into this object and into the tensors of the
 * caller, so it lives as long as they are used, and is not moved. */
class attention_call {
public:
  attention_call();
  attention_call(const attention_call &) = delete;
  attention_call &operator=(const attention_call &) = delete;

  /* Reads sizes, types and strides of the tensors, and the keywords, of which `function` has some. `k` and `v` are None
   * with a cache. */
  void read(nb::handle q, nb::handle k, nb::handle v, nb::handle keywords, function function);

  /* Makes the outputs that are wanted and not given. `like` is Q. Without memory only their layouts are known, as a plan
   * needs them. */
  void make_outputs(nb::handle like, bool with_memory = true);
  void make_extra_outputs(nb::handle like); /* all but O, and in layers all but y */
  bool wants_more() const;                  /* than O */
  bool wants_more_than_scores() const;

  /* For runs of a plan: begins with the rules of the plan's call; and refuses tensors that are not as the plan's. */
  void follow(const attention_call &planned);
  void require_layout(const attention_call &planned) const;

  /* O alone, or a Result if more is wanted. */
  nb::object result();

  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;

  /* For options: memory that the structs point to. */
  tensor &hold(nb::handle value, const char *name);
  tensor &hold_strided(nb::handle value, const char *name); /* the last axis may have any stride */
  const float *floats(nb::handle value, const char *name, const int64_t *shape, int axes);
  const double *doubles(nb::handle value, const char *name, const int64_t *shape, int axes);
  const int64_t *list(nb::handle value, const char *name, const char *what); /* `batch` numbers */
  const int32_t *offsets_of_rows(nb::handle value, const char *name, int64_t *sequences);

  int64_t sequences_q = 0, sequences_kv = 0; /* of packed batches; 0: not packed */
  int64_t first_key = 0;                     /* the position of the first key that K and V hold */
  int q_axes = 4;
  cache *cached = nullptr;                /* keys and values come from it */
  std::shared_ptr<const cache_view> view; /* its sequences, or those of pages */
  const tensor *page_table = nullptr;     /* (batch, pages of a sequence), if k and v are pages */

  /* Of layers: one more key of each sequence, before all others; scores that are averaged over heads; and of stacks,
   * how many layers have scores, which is then their first axis. */
  int64_t more_keys = 0, score_layers = 0;
  bool average_scores = false;

  /* Sets what the problem has of a cache. */
  void see(std::shared_ptr<const cache_view> sequences);

  std::vector<fovea_position_term> terms;
  std::vector<const float *> term_numbers;
  std::vector<const fovea_pattern *> patterns;
  std::vector<nb::object> kept; /* what the structs point to */

  /* Outputs. The caller gives some, make_outputs() makes the others. */
  output o, lse, scores, max_logits, top_keys, top_scores, entropy, column_sums;
  bool want_lse = false;
  nb::object state; /* in place of O, if the problem's result is one */
  void give(output &output, nb::handle value,
            const char *name); /* a tensor; its shape is checked when outputs are made */

private:
  void read_sizes(nb::handle q, nb::handle k, nb::handle v);
  void read_key_sizes(nb::handle k, nb::handle v, int64_t batch);
  void move_to_first_key();
  void read_cached_sizes(nb::handle k, nb::handle v, int64_t batch);
  void read_page_sizes(nb::handle k, nb::handle v, int64_t batch);
  void find_pages();
  void *make(output &output, nb::handle like, const char *name, element type, const int64_t *shape, int axes);
  int rows_shape(int64_t *shape) const;
  int64_t row_keys() const;
  void make_scores(nb::handle like);
  void make_state(nb::handle like, const int64_t *shape, int axes);

  bool with_memory_ = true;
  tensor q_, k_, v_;
  std::forward_list<tensor> held_;
  std::forward_list<std::vector<int64_t>> lists_;
  std::forward_list<std::vector<int32_t>> offsets_;
};

void set_page_table(attention_call &call, nb::handle value, const char *name);

/* Keywords that states have, too. */
void set_sink(attention_call &call, nb::handle value, const char *name);
fovea_normaliser normaliser_of(nb::handle value, const char *name);

} // namespace fovea_python

#endif
