/* Keywords about scores. */
#include "call.h"
#include "terms.h"

namespace fovea_python {

namespace {

/* Sets the scales' kind by what is there already. */
void add_scales(attention_call &call, fovea_scales kind) {
  call.problem.scales = static_cast<fovea_scales>(call.problem.scales | kind);
}

/* Adds a term; the strides of its numbers are the tensor's. */
void add_term(attention_call &call, const position_term &from, const char *name) {
  tensor &numbers = call.hold_strided(from.numbers, name);
  fovea_position_term term = from.term;
  int64_t extents[] = {call.problem.batch, call.problem.heads, from.places};
  int64_t *strides[] = {&term.batch, &term.head, &term.place};
  *strides[0] = *strides[1] = *strides[2] = 0;
  if (numbers.type != element::f32)
    refuse(name, "%s has numbers of %s; they must be float32", name, facts_of(numbers.type).name);
  int left_out = from.axes[0] == 'b' && numbers.axes == 1; /* slopes without a batch */
  if (numbers.axes + left_out != 2) refuse(name, "%s has numbers of the shape %s", name, shape_text(numbers).text);
  for (int axis = 0; axis < numbers.axes; axis++) {
    int to = from.axes[axis + left_out] == 'b' ? 0 : from.axes[axis + left_out] == 'h' ? 1 : 2;
    if (numbers.shape[axis] != extents[to] && !(to < 2 && numbers.shape[axis] == 1))
      refuse(name, "%s has numbers of the shape %s; axis %d must have %jd", name, shape_text(numbers).text, axis,
             (intmax_t)extents[to]);
    if (numbers.shape[axis] > 1) *strides[to] = numbers.strides[axis];
  }
  call.terms.push_back(term);
  call.term_numbers.push_back(static_cast<const float *>(numbers.data));
  fovea_problem_set_terms(&call.problem, call.terms.data(), static_cast<int64_t>(call.terms.size()));
  call.tensors.terms = call.term_numbers.data();
}

void set_terms(attention_call &call, nb::handle value, const char *name) {
  call.terms.clear();
  call.term_numbers.clear();
  if (nb::isinstance<position_term>(value)) return add_term(call, nb::cast<position_term &>(value), name);
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr()))
    refuse_type(name, value, "a Term, or a list of terms");
  for (nb::handle each : nb::borrow<nb::sequence>(value)) {
    if (!nb::isinstance<position_term>(each))
      refuse_type(name, each, "a Term: alibi(), relative(), t5() or grid()");
    add_term(call, nb::cast<position_term &>(each), name);
  }
}

/* Shaw's tables, (2 distance + 1, dim) or (heads, 2 distance + 1, dim). */
const float *shaw_table(attention_call &call, nb::handle value, const char *name, int64_t dim, fovea_shaw kind) {
  tensor &table = call.hold(value, name);
  fovea_problem_shaw &shaw = call.problem.shaw;
  if (table.type != element::f32 || table.axes < 2 || table.axes > 3 || table.shape[table.axes - 1] != dim ||
      table.shape[table.axes - 2] % 2 == 0)
    refuse(name,
           "%s is a tensor of %s of the shape %s; it must be float32 (2 * distance + 1, %jd), with heads in front "
           "if each has its own",
           name, facts_of(table.type).name, shape_text(table).text, (intmax_t)dim);
  require_contiguous(table, name);
  int64_t distance = table.shape[table.axes - 2] / 2, heads = table.axes == 3 ? table.shape[0] : 1;
  bool second = shaw.kind != FOVEA_SHAW_NONE && shaw.kind != kind;
  if (second && (shaw.distance != distance || shaw.heads != heads))
    refuse(name, "%s has the shape %s; both tables must have as many distances and heads", name,
           shape_text(table).text);
  shaw = {static_cast<fovea_shaw>(shaw.kind | kind), distance, heads};
  return static_cast<const float *>(table.data);
}

const option options[] = {
    {"scale", "float", "what q.k is multiplied by; default 1 / sqrt(qk_dim)", in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) { call.problem.scale = number_of(value, name); }},
    {"head_scales", "Tensor", "float64 (heads,): a scale for each head, in place of `scale`", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.head_scales = call.doubles(value, name, &call.problem.heads, 1);
       add_scales(call, FOVEA_SCALES_PER_HEAD);
     }},
    {"row_scales", "Tensor",
     "float64 (batch, rows), of packed batches (rows,): scores of a row are multiplied by its", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       const int64_t shape[] = {call.problem.batch, call.problem.q_len};
       bool packed = call.sequences_q > 0;
       call.tensors.row_scales = call.doubles(value, name, packed ? shape + 1 : shape, packed ? 1 : 2);
       add_scales(call, FOVEA_SCALES_PER_ROW);
     }},
    {"softcap", "float", "scores are softcap * tanh(scale * q.k / softcap)", in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.softcap = number_of(value, name);
     }},
    {"leaky_relu", "float", "the slope below 0 of a LeakyReLU of q.k, before scale and softcap (graph attention)",
     in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.activation = {FOVEA_SCORE_ACTIVATION_LEAKY_RELU, number_of(value, name)};
     }},
    {"terms", "Term | Sequence[Term]", "what positions add to scores: alibi(), relative(), t5(), grid(); up to 4",
     in_all, false, set_terms},
    {"shaw_keys", "Tensor",
     "float32 (2 * distance + 1, qk_dim) or (heads, 2 * distance + 1, qk_dim): vectors of distances, added to keys "
     "(Shaw\n"
     "        et al., 2018)",
     in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.shaw.keys = shaw_table(call, value, name, call.problem.qk_dim, FOVEA_SHAW_KEYS);
     }},
    {"shaw_values", "Tensor", "the same for values, with v_dim", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.shaw.values = shaw_table(call, value, name, call.problem.v_dim, FOVEA_SHAW_VALUES);
     }},
};

} // namespace

option_list score_options() {
  return {options, sizeof options / sizeof *options};
}

} // namespace fovea_python
