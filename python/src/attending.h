/* What a layer attends over: the keywords of attention() as its problem, and its tensors but for x and y. */
#ifndef FOVEA_PYTHON_ATTENDING_H
#define FOVEA_PYTHON_ATTENDING_H

#include "call.h"
#include "rows.h"

#include <fovea/nn.h>

#include <optional>

namespace fovea_python {

/* How many sequences, and how many rows each has; packed: how many rows in all. */
struct sequences {
  int64_t batch, length;
};

/* Of a tensor whose first `axes` are (batch, rows), or (rows,) of one sequence or of `packed` ones. */
sequences sequences_of(const tensor &rows, int axes, const char *name, int64_t packed);

/* Where rows and keys are. */
struct given_positions {
  nb::handle first;  /* of rows: one number, or one for each sequence */
  nb::handle rotary; /* what rows are rotated to, one number for each row and axis */
  nb::handle memory; /* the same for keys of a memory */
};

/* The heads of a layer. */
struct head_sizes {
  int64_t heads, kv_heads, qk_dim, v_dim;
  const fovea_rotary *rotary; /* NULL: none */

  void set(fovea_problem &problem) const {
    problem.heads = heads;
    problem.kv_heads = kv_heads;
    problem.qk_dim = qk_dim;
    problem.v_dim = v_dim;
  }
};

/* The structs point into this object, so it lives as long as they are used, and is not moved. */
class attending {
public:
  explicit attending(nb::handle keywords); /* a dict; sets those keywords that are set before sizes */
  attending(const attending &) = delete;
  attending &operator=(const attending &) = delete;

  /* Sets sizes, positions, and the other keywords. `memory` is NULL if keys are made of the rows, or come from a cache.
   * With a cache, keys and values of the rows are added to it, or it has all already. */
  void describe(const head_sizes &heads, sequences rows, const sequences *memory, bool adds_to_cache,
                const given_positions &positions);

  /* Gives a layer and the tensors what the keywords have set. */
  void hand_to(fovea_nn_attention &layer);

  fovea_nn_attending all() const { return {&call.problem, &tensors}; }
  void keep(); /* rows that go to a cache are written */

  attention_call call;
  fovea_nn_attention_tensors tensors;

private:
  std::vector<int64_t> new_rows(sequences rows) const;
  void attend_over_cache(bool adds, sequences rows);
  void set_positions(const given_positions &positions, const fovea_rotary *rotary);

  given_options given_;
  std::optional<cache_step> step_;
  std::vector<int64_t> first_positions_, rotary_positions_, memory_positions_;
};

/* The texts of both, for signatures and docstrings of layers. */
extern const char position_types[], position_text[];

} // namespace fovea_python

#endif
