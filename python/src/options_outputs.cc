/* Keywords about outputs, and about how a call runs. */
#include "call.h"

namespace fovea_python {

namespace {

/* True: wanted; False: not; a tensor: wanted there. */
bool wanted(attention_call &call, output &output, nb::handle value, const char *name) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  call.give(output, value, name);
  return true;
}

void set_scores(attention_call &call, nb::handle value, const char *name) {
  call.problem.scores.kind = static_cast<fovea_score_output>(choice_of(value, name,
                                                                       {{"weights", FOVEA_SCORES_WEIGHTS},
                                                                        {"raw", FOVEA_SCORES_RAW},
                                                                        {"capped", FOVEA_SCORES_CAPPED},
                                                                        {"biased", FOVEA_SCORES_BIASED}}));
}

const option options[] = {
    {"out", "Tensor",
     "where O is written, of Q's shape with v_dim: float32, float16 or bfloat16; default: a new tensor", in_all,
     false, [](attention_call &call, nb::handle value, const char *name) { call.give(call.o, value, name); }},
    {"lse", "bool | Tensor", "LSE, float32 (batch, heads, rows): the natural logarithm of the sum of exp(score)",
     in_tensors, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.want_lse = wanted(call, call.lse, value, name);
     }},
    {"state", "bool", "the result is a State over `keys`, and not O", in_problem &not_in_layer, false,
     [](attention_call &call, nb::handle value, const char *name) { call.problem.state = flag_of(value, name); }},
    {"scores", "str",
     "'weights', or scores in natural units: 'raw', 'capped', 'biased'; float32 (batch, heads, rows, keys)",
     in_problem, false, set_scores},
    {"scores_out", "Tensor", "where they are written", in_tensors, false,
     [](attention_call &call, nb::handle value, const char *name) { call.give(call.scores, value, name); }},
    {"score_heads", "tuple[int, int | None]", "(begin, end): scores of these heads only", in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.scores.heads = range_of(value, name);
     }},
    {"score_rows", "tuple[int, int | None]", "the same for rows", in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.scores.rows = range_of(value, name);
     }},
    {"score_keys", "tuple[int, int | None]", "the same for keys", in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.scores.keys = range_of(value, name);
     }},
    {"max_logits", "bool | Tensor", "the largest score of each head, float32 (batch, heads)", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.max_logits = wanted(call, call.max_logits, value, name);
     }},
    {"top", "int",
     "how many keys with the largest scores of each row: int64 (batch, heads, rows, top), and their scores",
     in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.top.k = integer_of(value, name);
     }},
    {"entropy", "bool | Tensor", "the entropy of each row's weights, float32 (batch, heads, rows)", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.entropy = wanted(call, call.entropy, value, name);
     }},
    {"column_sums", "bool | Tensor", "the sum of weights of each key, float32 (batch, heads, keys)", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.column_sums.wanted = wanted(call, call.column_sums, value, name);
     }},
    {"column_rows", "tuple[int, int | None]", "(begin, end): sums over these rows only", in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.column_sums.rows = range_of(value, name);
     }},
};

const option how[] = {
    {"threads", "int", "how many threads; default: the CPUs that this process may use", in_tensors, false,
     [](attention_call &call, nb::handle value, const char *name) {
       int64_t threads = integer_of(value, name);
       call.execution.threads = threads > INT32_MAX ? INT32_MAX : threads < INT32_MIN ? INT32_MIN : (int)threads;
     }},
    {"isa", "str", "the instruction set, a name that info() has as usable; default: the best of this CPU",
     in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) { call.execution.isa = word_of(value, name); }},
};

} // namespace

option_list output_options() {
  return {options, sizeof options / sizeof *options};
}

option_list execution_options() {
  return {how, sizeof how / sizeof *how};
}

} // namespace fovea_python
