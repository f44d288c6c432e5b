/* fovea attend: Q, K and V from .npy files, O, the LSE and the weights into .npy files. */
#include "attend_options.h"
#include "attend_problem.h"
#include "attend_shaw.h"
#include "attend_vectors.h"
#include "commands.h"
#include "convert.h"
#include "inputs.h"
#include "npy.h"
#include "outputs.h"
#include "trace.h"
#include <fovea/fovea.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: fovea attend --q Q.npy --k K.npy --v V.npy --out O.npy [OPTIONS]\n"
    "\n"
    "O = softmax(scale * Q K^T) V. The files hold float32 or float16 in C order, all three with the same axes:\n"
    "(batch, heads, rows, dim), (heads, rows, dim) or (rows, dim). K and V may have fewer heads than Q, if their\n"
    "number divides Q's. O gets the axes of Q, but the last axis of V.\n"
    "\n"
    "  --q, --k, --v PATH     the inputs\n"
    "  --cast TYPE            converts the inputs to f32, f16 or bf16 first, to nearest even\n"
    "  --out PATH             where O goes\n"
    "  --out-type TYPE        O as f32 (default), f16 or bf16; NumPy has no bf16: the file holds its bits as "
    "uint16,\n"
    "                         which (a.astype('<u4') << 16).view('<f4') converts to float32\n"
    "  --lse PATH             where the log-sum-exp of each row goes, as f32: the axes of Q without the last one\n"
    "  --weights PATH         where the attention weights go, each row's softmax: the axes of Q, but the keys as "
    "the\n"
    "                         last axis. 0 for keys that a row does not see; with a sink they sum to less than 1\n"
    "  --weights-type TYPE    the weights as f32 (default), f16 or bf16\n"
    "  --scores PATH          scores in place of weights, as f32; -Inf for keys that a row does not see\n"
    "  --scores-mode N        0 (default): scale * q.k; 1: after the softcap; 2: after the mask, too; 3: weights\n"
    "  --column-sums PATH     the weight that each key gets from all rows, as f32: (batch, heads, keys), without\n"
    "                         axes that Q does not have\n"
    "  --topk N               with --top-keys PATH: the numbers of the N keys with the largest scores of each "
    "row,\n"
    "                         as int32 with -1 where a row sees fewer: the axes of Q, but N as the last axis\n"
    "\n"
    "A row sees a key if every rule allows it. Row i's own key is i + offset.\n"
    "  --causal               no key after the own key\n"
    "  --window L,R           at most L before and R after the own key; -1 means unlimited\n"
    "  --chunk C,LEFT,RIGHT   keys come in chunks of C: the own key's chunk, LEFT keys before it, RIGHT after it;\n"
    "                         -1 means unlimited\n"
    "  --offset N | a,b,..    for all batch elements or one for each; default: keys - rows, so that the last "
    "row's\n"
    "                         own key is the last key; with 0 the first row's own key is the first key\n"
    "  --q-lens a,b,..        rows in use of each batch element; the others get zeros, and -Inf as LSE\n"
    "  --kv-lens a,b,..       keys in use of each batch element\n"
    "  --kv-begins a,b,..     the first key in use of each batch element: what lies before is padding\n"
    "  --mask PATH            bool: keys with False are not visible; float32 or float16: added to the scores, "
    "keys\n"
    "                         with -Inf are not visible. Broadcast against (batch, heads, rows, keys) as NumPy "
    "does;\n"
    "                         if it has fewer keys than K, but more than one, the later keys are not visible\n"
    "  --mask-begin N         the key that the mask's first element belongs to; earlier keys are left to the "
    "other\n"
    "                         rules. Default 0\n"
    "  --pattern TEXT         rules joined by & | ! and (), such as 'causal & (window 511 | global 0,1,2)':\n"
    "                           causal | window L [R] | dilated L R STEP | chunks SIZE [LEFT [RIGHT]]\n"
    "                           keys A:B | rows A:B | prefix N | every PERIOD A:B (B itself is not among them)\n"
    "                           global LIST.. | documents KEYS.npy [ROWS.npy] | tree PARENTS.npy [FIRST]\n"
    "                           blocks ROWS KEYS INDPTR.npy INDICES.npy | csr INDPTR.npy INDICES.npy [FIRST]\n"
    "                           random ROWS KEYS COUNT SEED | grid HxW KxK [dilation DxD] [causal]\n"
    "                         The files hold int32 or int64. docs/patterns.md says what each means\n"
    "  --csr INDPTR,INDICES   the rule csr; and-ed with the pattern, as the next\n"
    "  --global a,b,.. | PATH the rule global\n"
    "  --by-row               patterns count rows from the first, whatever the offset\n"
    "\n";

/* The rest: a string of C has a limit. */
static const char help_of_scores[] =
    "  --scale X              default 1/sqrt(dim of Q)\n"
    "  --leaky-relu SLOPE     q.k becomes LeakyReLU(q.k) before all else: SLOPE * q.k where it is not above 0 "
    "(GAT:\n"
    "                         0.2)\n"
    "  --softcap X            scores s become X * tanh(s / X), before a mask is added\n"
    "  --alibi PATH           float32 slopes, (heads) or (batch, heads): slope * (key - own key) is added to a "
    "score\n"
    "  --relative PATH        a float32 table, (2n + 1) or (heads, 2n + 1), of what is added to a score for\n"
    "                         key - own key from -n to n; what is farther gets the first or the last number\n"
    "  --shaw-keys PATH       float32 vectors, (2n + 1, dim) or (heads, 2n + 1, dim), one of which is added to "
    "each\n"
    "                         key: the vector of key - own key, from -n to n (Shaw et al., 2018)\n"
    "  --shaw-values PATH     the same for values\n"
    "  --sinks PATH | zero    one float32 for each head of Q: the score of one more key whose value is zero; "
    "`zero`\n"
    "                         is 0 for every head (softmax-1)\n"
    "  --normaliser NAME      how scores s become weights: softmax (default), relu (max(s, 0)), relu-squared, "
    "or\n"
    "                         sigmoid (1 / (1 + exp(-(s + bias))))\n"
    "  --sigmoid-bias X       the bias of the sigmoid. Default 0\n"
    "  --divisor D            what O and the weights are divided by, without the softmax: none (default), keys "
    "(how\n"
    "                         many a row sees), sum (of the row's weights), or a number\n"
    "  --arithmetic MODES     exact (default), bf16: rounded to bf16, both products as AMX computes them, or int8: "
    "in\n"
    "                         quantised to 8 bits with a scale for each row; all with the same bits on every CPU. "
    "Scores\n"
    "                         and values may differ: int8,bf16\n"
    "  --key-centre PATH      of int8 scores: a float32 vector, (dim) or (heads of K, dim), that is subtracted "
    "from\n"
    "                         keys before they are quantised; the softmax does not see it\n"
    "  --key-scale PATH       of int8 scores: a vector that Q is multiplied by. K has been divided by it, and so "
    "has\n"
    "                         the centre\n"
    "  --value-scale PATH     of int8 values: a vector that O is multiplied by. V has been divided by it\n"
    "  --allow-amx            bf16 and int8 on AMX where it can run: the same bits, sooner\n"
    "  --trace PATH           when each task began and ended, on which worker: Chrome's trace format, which\n"
    "                         ui.perfetto.dev shows\n"
    "  --threads N            default 0: as many as this process may use\n"
    "  --isa NAME             an instruction set that `fovea info` lists as usable\n"
    "\n"
    "No output may go to a file that is read. On failure no output file is written, and files that existed before\n"
    "stay as they were.\n";

enum { BATCH, HEADS, ROWS, DIM, AXES };
enum { OUTPUT_O, OUTPUT_LSE, OUTPUT_WEIGHTS, OUTPUT_COLUMN_SUMS, OUTPUT_TOP_KEYS, OUTPUT_TRACE, OUTPUTS };

/* One tensor of a file. Axes that the file does not have are leading axes of 1. */
typedef struct input_file {
  npy_array array;
  fovea_type type; /* of the elements, after --cast */
  int64_t axes[AXES];
} input_file;

typedef struct attend_job {
  attend_options options;
  input_file q, k, v;
  problem_inputs inputs;
  attend_shaw shaw;
  attend_vectors vectors;
  fovea_problem problem;
  fovea_plan *plan;
  void *o;
  float *lse, *weights; /* weights or scores */
  float *column_sums;
  int64_t *top_keys;
  trace trace;
  output_file outputs[OUTPUTS];
} attend_job;

static bool cast_input(input_file *input, fovea_type type, failure *why) {
  if (type == input->type) return true;
  size_t count = (size_t)input->array.count;
  void *numbers = malloc((count > 0 ? count : 1) * type_size(type));
  if (!numbers) return fail(why, "out of memory for %zu converted numbers", count);
  convert_numbers(numbers, type, input->array.data, input->type, input->array.count);
  free(input->array.data);
  input->array.data = numbers;
  input->type = type;
  return true;
}

static bool load_input(input_file *input, const char *path, const type_name *cast, failure *why) {
  const unsigned types = NPY_SET(NPY_F32) | NPY_SET(NPY_F16);
  if (!input_load(path, types, &input->array, why)) return false;
  input->type = input->array.type == NPY_F16 ? FOVEA_F16 : FOVEA_F32;
  int rank = input->array.rank;
  if (rank < 2 || rank > AXES)
    return fail(why, "%s: has %d axes; (batch, heads, rows, dim), (heads, rows, dim) or (rows, dim) is needed",
                path, rank);
  for (int axis = 0; axis < AXES; axis++)
    input->axes[axis] = axis < AXES - rank ? 1 : input->array.shape[axis - (AXES - rank)];
  return !cast->given || cast_input(input, cast->type, why);
}

/* Refuses two files whose numbers of `what` differ. */
static bool check_same(const char *what, const char *path, int64_t length, const char *other_path,
                       int64_t other_length, failure *why) {
  return length == other_length || fail(why, "%s: has %lld %s, but %s has %lld", path, (long long)length, what,
                                        other_path, (long long)other_length);
}

static bool load_inputs(attend_job *job, failure *why) {
  const attend_options *options = &job->options;
  input_file *q = &job->q, *k = &job->k, *v = &job->v;
  const type_name *cast = &options->cast;
  return load_input(q, options->q, cast, why) && load_input(k, options->k, cast, why) &&
         load_input(v, options->v, cast, why) &&
         check_same("axes", options->k, k->array.rank, options->q, q->array.rank, why) &&
         check_same("axes", options->v, v->array.rank, options->q, q->array.rank, why) &&
         check_same("batch elements", options->k, k->axes[BATCH], options->q, q->axes[BATCH], why) &&
         check_same("batch elements", options->v, v->axes[BATCH], options->q, q->axes[BATCH], why) &&
         check_same("heads", options->v, v->axes[HEADS], options->k, k->axes[HEADS], why) &&
         check_same("rows", options->v, v->axes[ROWS], options->k, k->axes[ROWS], why) &&
         check_same("dimensions", options->k, k->axes[DIM], options->q, q->axes[DIM], why);
}

static void set_outputs(fovea_problem *problem, const attend_options *options) {
  static const fovea_score_output modes[] = {FOVEA_SCORES_RAW, FOVEA_SCORES_CAPPED, FOVEA_SCORES_BIASED,
                                             FOVEA_SCORES_WEIGHTS};
  if (options->weights) problem->scores.kind = FOVEA_SCORES_WEIGHTS;
  if (options->scores)
    problem->scores.kind = modes[options->scores_mode.count > 0 ? options->scores_mode.numbers[0] : 0];
  problem->column_sums.wanted = options->column_sums != NULL;
  if (options->top_k.count > 0) problem->top.k = options->top_k.numbers[0];
}

static bool describe_problem(attend_job *job, failure *why) {
  const attend_options *options = &job->options;
  const int64_t *q = job->q.axes, *k = job->k.axes, *v = job->v.axes;
  fovea_problem *problem = &job->problem;
  fovea_problem_init(problem, q[BATCH], q[HEADS], k[HEADS], q[ROWS], k[ROWS], q[DIM], v[DIM]);
  problem->q_type = job->q.type;
  problem->k_type = job->k.type;
  problem->v_type = job->v.type;
  problem->o_type = options->out_type.type; /* FOVEA_F32 if none is given */
  set_outputs(problem, options);
  return problem_set(problem, options, &job->inputs, why) &&
         load_shaw(options->shaw_keys, options->shaw_values, &job->shaw, problem, why) &&
         load_vectors(options, &job->vectors, problem, why);
}

/* Room for one element at least, so that an empty tensor has an address. */
static void *allocate_output(const int64_t *lengths, int count, size_t size, failure *why) {
  size_t numbers = 1, limit = PTRDIFF_MAX / sizeof(int64_t);
  for (int axis = 0; axis < count; axis++) {
    size_t length = (size_t)lengths[axis];
    if (length > 0 && numbers > limit / length) {
      fail(why, "the output is too large for this machine");
      return NULL;
    }
    numbers *= length;
  }
  void *tensor = malloc((numbers > 0 ? numbers : 1) * size);
  if (!tensor) fail(why, "out of memory for an output of %zu numbers", numbers);
  return tensor;
}

static bool prepare_weights(attend_job *job, failure *why) {
  const int64_t *q = job->q.axes, axes[AXES] = {q[BATCH], q[HEADS], q[ROWS], job->k.axes[ROWS]};
  job->weights = allocate_output(axes, AXES, sizeof *job->weights, why);
  const char *path = job->options.weights ? job->options.weights : job->options.scores;
  return job->weights && output_open(&job->outputs[OUTPUT_WEIGHTS], path, why);
}

static bool prepare_column_sums(attend_job *job, failure *why) {
  const int64_t axes[] = {job->q.axes[BATCH], job->q.axes[HEADS], job->k.axes[ROWS]};
  job->column_sums = allocate_output(axes, 3, sizeof *job->column_sums, why);
  return job->column_sums && output_open(&job->outputs[OUTPUT_COLUMN_SUMS], job->options.column_sums, why);
}

static bool prepare_top_keys(attend_job *job, failure *why) {
  const int64_t *q = job->q.axes, axes[AXES] = {q[BATCH], q[HEADS], q[ROWS], job->problem.top.k};
  job->top_keys = allocate_output(axes, AXES, sizeof *job->top_keys, why);
  return job->top_keys && output_open(&job->outputs[OUTPUT_TOP_KEYS], job->options.top_keys, why);
}

/* Everything that can fail comes before the computation: arguments, memory, and the output files. */
static bool prepare(attend_job *job, failure *why) {
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.isa = job->options.isa;
  if (fovea_plan_create(&job->problem, &execution, &job->plan, &error) != FOVEA_OK)
    return fail(why, "%s", error.text);

  const int64_t o_axes[AXES] = {job->q.axes[BATCH], job->q.axes[HEADS], job->q.axes[ROWS], job->v.axes[DIM]};
  job->o = allocate_output(o_axes, AXES, type_size(job->problem.o_type), why);
  if (!job->o || !output_open(&job->outputs[OUTPUT_O], job->options.out, why)) return false;
  if (job->options.lse) {
    job->lse = allocate_output(o_axes, AXES - 1, sizeof *job->lse, why);
    if (!job->lse || !output_open(&job->outputs[OUTPUT_LSE], job->options.lse, why)) return false;
  }
  return (job->problem.scores.kind == FOVEA_SCORES_NONE || prepare_weights(job, why)) &&
         (!job->options.column_sums || prepare_column_sums(job, why)) &&
         (!job->options.top_keys || prepare_top_keys(job, why)) &&
         (!job->options.trace || output_open(&job->outputs[OUTPUT_TRACE], job->options.trace, why));
}

static bool run_plan(attend_job *job, failure *why) {
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_error error;
  fovea_tensors_init(&tensors, job->q.array.data, job->k.array.data, job->v.array.data, job->o, job->lse);
  tensors.mask = job->inputs.mask.data;
  tensors.sink = job->inputs.sinks.data;
  tensors.scores = job->weights;
  if (job->inputs.terms.count > 0) tensors.terms = job->inputs.terms.numbers;
  set_shaw(&job->shaw, &tensors);
  set_vectors(&job->vectors, &tensors);
  tensors.column_sums = job->column_sums;
  tensors.top.keys = job->top_keys;
  fovea_execution_init(&execution);
  if (job->options.threads.count > 0) {
    int64_t threads = job->options.threads.numbers[0];
    if (threads < 0 || threads > INT_MAX) return fail(why, "--threads is %lld", (long long)threads);
    execution.threads = (int)threads;
  }
  if (job->options.trace) return trace_run(&job->trace, job->plan, &tensors, execution.threads, why);
  return fovea_plan_run(job->plan, &tensors, &execution, &error) == FOVEA_OK || fail(why, "%s", error.text);
}

static const npy_type file_types[] = {[FOVEA_F32] = NPY_F32, [FOVEA_F16] = NPY_F16, [FOVEA_BF16] = NPY_U16};

/* The library writes f32; other types are rounded from it here. */
static bool write_weights(attend_job *job, int64_t *shape, failure *why) {
  const fovea_type type = job->options.weights_type.type; /* FOVEA_F32 if none is given */
  const int rank = job->q.array.rank;
  void *numbers = job->weights, *narrow = NULL;
  shape[rank - 1] = job->k.axes[ROWS];
  if (type != FOVEA_F32) {
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) count *= shape[axis];
    narrow = malloc((count > 0 ? (size_t)count : 1) * type_size(type));
    if (!narrow) return fail(why, "out of memory for %lld converted weights", (long long)count);
    convert_numbers(narrow, type, numbers, FOVEA_F32, count);
    numbers = narrow;
  }
  bool written = output_write(&job->outputs[OUTPUT_WEIGHTS], file_types[type], rank, shape, numbers, why);
  free(narrow);
  return written;
}

static bool write_outputs(attend_job *job, failure *why) {
  npy_type o_type = file_types[job->problem.o_type];
  int rank = job->q.array.rank;
  int64_t shape[AXES];
  for (int axis = 0; axis < rank; axis++) shape[axis] = job->q.array.shape[axis];
  shape[rank - 1] = job->v.axes[DIM];
  if (!output_write(&job->outputs[OUTPUT_O], o_type, rank, shape, job->o, why)) return false;
  if (job->lse && !output_write(&job->outputs[OUTPUT_LSE], NPY_F32, rank - 1, shape, job->lse, why)) return false;
  if (job->weights && !write_weights(job, shape, why)) return false;
  shape[rank - 1] = job->problem.top.k;
  if (job->top_keys && !output_write(&job->outputs[OUTPUT_TOP_KEYS], NPY_I64, rank, shape, job->top_keys, why))
    return false;
  shape[rank - 2] = job->k.axes[ROWS];
  if (job->column_sums &&
      !output_write(&job->outputs[OUTPUT_COLUMN_SUMS], NPY_F32, rank - 1, shape, job->column_sums, why))
    return false;
  if (job->options.trace) {
    output_file *output = &job->outputs[OUTPUT_TRACE];
    if (!output_close(output, trace_write(&job->trace, output->stream), why)) return false;
  }
  return outputs_commit(job->outputs, OUTPUTS, why);
}

static void release(attend_job *job) {
  for (int i = 0; i < OUTPUTS; i++) output_discard(&job->outputs[i]);
  trace_free(&job->trace);
  free(job->top_keys);
  free(job->column_sums);
  free(job->weights);
  free(job->lse);
  free(job->o);
  fovea_plan_destroy(job->plan);
  problem_inputs_free(&job->inputs);
  attend_shaw_free(&job->shaw);
  attend_vectors_free(&job->vectors);
  npy_free(&job->v.array);
  npy_free(&job->k.array);
  npy_free(&job->q.array);
  attend_options_free(&job->options);
}

bool attend_command(int argument_count, char **arguments, failure *why) {
  attend_job job = {.plan = NULL};
  bool done = attend_options_parse(&job.options, argument_count, arguments, why);
  if (done && job.options.help) {
    fputs(help, stdout);
    fputs(help_of_scores, stdout);
  } else {
    done = done && load_inputs(&job, why) && describe_problem(&job, why) && prepare(&job, why) &&
           run_plan(&job, why) && write_outputs(&job, why);
  }
  release(&job);
  return done;
}
