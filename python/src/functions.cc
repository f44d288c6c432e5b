#include "functions.h"
#include "doubles.h"
#include "rows.h"
#include "values.h"

#include <algorithm>

namespace fovea_python {

namespace {

/* Every NaN as the one quiet NaN. */
inline float rounded(double y) {
  float single = static_cast<float>(y);
  return single == single ? single : std::numeric_limits<float>::quiet_NaN();
}

/* Float32 tensors of one shape, the elements of both side by side. */
struct pair_of_tensors {
  tensor from, to;
  nb::object object;
  int64_t count = 1;

  pair_of_tensors(nb::handle x, nb::handle out) {
    from.read_strided(x, "x");
    require_type(from, "x", element::f32);
    require_contiguous(from, "x");
    object = out.is_none() ? make_tensor(x, element::f32, from.shape, from.axes) : nb::borrow(out);
    to.write_strided(object, "out");
    require_type(to, "out", element::f32);
    require_shape(to, "out", from.shape, from.axes);
    require_contiguous(to, "out");
    for (int axis = 0; axis < from.axes; axis++) count *= from.shape[axis];
  }
  const float *x() const { return static_cast<const float *>(from.data); }
  float *y() const { return static_cast<float *>(to.data); }
};

/* Runs a function object for each of `tasks` on so many threads as `work` multiply-adds are worth, without the GIL. */
template <class function> void run_tasks(int64_t tasks, double work, int threads, const function &task) {
  row_execution execution(threads);
  int workers = std::max(1, fovea_tasks_workers(tasks, work, &execution));
  auto run = [](const void *data, int64_t number, int) { (*static_cast<const function *>(data))(number); };
  compute([&](fovea_error *error) { return fovea_tasks_run(run, &task, tasks, workers, &execution, error); });
}

constexpr int64_t elements_of_task = 8192;
constexpr double work_of_element = 40;

template <class function> void map_elements(const pair_of_tensors &pair, int threads, const function &f) {
  int64_t tasks = (pair.count + elements_of_task - 1) / elements_of_task;
  run_tasks(tasks, work_of_element * static_cast<double>(pair.count), threads, [&pair, &f](int64_t task) {
    int64_t begin = task * elements_of_task, end = std::min(pair.count, begin + elements_of_task);
    const float *x = pair.x();
    float *y = pair.y();
    for (int64_t i = begin; i < end; i++) y[i] = rounded(f(static_cast<double>(x[i])));
  });
}

nb::object apply(nb::handle x, nb::handle function, double base, nb::handle out, int threads) {
  enum { EXP, LOG, TANH, SIGMOID, SINE, COSINE, POWER };
  int chosen = choice_of(function, "function",
                         {{"exp", EXP},
                          {"log", LOG},
                          {"tanh", TANH},
                          {"sigmoid", SIGMOID},
                          {"sin", SINE},
                          {"cos", COSINE},
                          {"power", POWER}});
  if (chosen == POWER && !(base > 0 && base < infinity))
    refuse("base", "base is %g; it must be above 0 and finite", base);
  if (chosen != POWER && base != 0) refuse_unused("base", "base is %g, and only 'power' has one", base);
  pair_of_tensors pair(x, out);
  switch (chosen) {
  case EXP:
    map_elements(pair, threads, exp_of);
    break;
  case LOG:
    map_elements(pair, threads, log_of);
    break;
  case TANH:
    map_elements(pair, threads, tanh_of);
    break;
  case SIGMOID:
    map_elements(pair, threads, sigmoid_of);
    break;
  case SINE:
    map_elements(pair, threads, sine_of<0>);
    break;
  case COSINE:
    map_elements(pair, threads, sine_of<1>);
    break;
  default:
    map_elements(pair, threads, [of_base = log_of(base)](double y) { return exp_of(y * of_base); });
  }
  return pair.object;
}

/* ---- Sums ---------------------------------------------------------------------------------------------------- */

/* Sixteen sums, number i of the elements whose index mod 16 is i, and then one: docs/numerics.md, L3. */
constexpr int sum_count = 16;

template <class number> number fold(number *sums) {
  for (int width = sum_count / 2; width > 0; width /= 2)
    for (int i = 0; i < width; i++) sums[i] = sums[i] + sums[i + width];
  return sums[0];
}

/* Of `count` numbers side by side. */
template <bool squares> float sum_of_row(const float *x, int64_t count) {
  float sums[sum_count] = {0};
  int64_t whole = count - count % sum_count;
  auto add = [](float value, float sum) { return squares ? std::fma(value, value, sum) : sum + value; };
  for (int64_t i = 0; i < whole; i += sum_count)
    for (int j = 0; j < sum_count; j++) sums[j] = add(x[i + j], sums[j]);
  for (int64_t i = whole; i < count; i++) sums[i - whole] = add(x[i], sums[i - whole]);
  return fold(sums);
}

/* Of columns side by side, whose numbers are `stride` apart. */
constexpr int column_count = 64;

template <bool squares> void sum_columns(const float *x, int64_t count, int64_t stride, int columns, float *y) {
  float sums[sum_count][column_count] = {};
  for (int64_t i = 0; i < count; i++) {
    float *to = sums[i % sum_count];
    for (int j = 0; j < columns; j++) {
      float value = x[i * stride + j];
      to[j] = squares ? std::fma(value, value, to[j]) : to[j] + value;
    }
  }
  for (int j = 0; j < columns; j++) {
    float column[sum_count];
    for (int i = 0; i < sum_count; i++) column[i] = sums[i][j];
    y[j] = fold(column);
  }
}

template <bool squares> void sum_all(const float *x, const int64_t shape[3], float *y, int threads) {
  int64_t count = shape[1], inner = shape[2], parts = (inner + column_count - 1) / column_count;
  double work = static_cast<double>(shape[0]) * static_cast<double>(count) * static_cast<double>(inner);
  run_tasks(shape[0] * parts, work * (squares ? 16 : 2), threads, [=](int64_t task) {
    int64_t outer = task / parts, column = task % parts * column_count;
    const float *from = x + outer * count * inner + column;
    int columns = static_cast<int>(std::min<int64_t>(column_count, inner - column));
    if (inner == 1)
      y[outer] = sum_of_row<squares>(from, count);
    else
      sum_columns<squares>(from, count, inner, columns, y + outer * inner + column);
  });
}

nb::object sum(nb::handle x, bool squares, int threads) {
  tensor from, to;
  from.read_strided(x, "x");
  require_type(from, "x", element::f32);
  if (from.axes != 3) refuse("x", "x has the shape %s; it must have three axes", shape_text(from).text);
  require_contiguous(from, "x");
  int64_t shape[2] = {from.shape[0], from.shape[2]};
  nb::object object = make_tensor(x, element::f32, shape, 2);
  to.write_strided(object, "out");
  const float *numbers = static_cast<const float *>(from.data);
  float *sums = static_cast<float *>(to.data);
  if (squares)
    sum_all<true>(numbers, from.shape, sums, threads);
  else
    sum_all<false>(numbers, from.shape, sums, threads);
  return object;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* x - m - ln(sum of e^(x - m)), m the largest number; in double, with the sixteen sums. */
void log_softmax_of_row(const float *x, float *y, int64_t count) {
  double m = -infinity, sums[sum_count] = {0};
  for (int64_t i = 0; i < count; i++) m = x[i] > m ? x[i] : m;
  for (int64_t i = 0; i < count; i++) sums[i % sum_count] = sums[i % sum_count] + exp_of(x[i] - m);
  double of_sum = log_of(fold(sums));
  for (int64_t i = 0; i < count; i++) y[i] = rounded(x[i] - m - of_sum);
}

nb::object log_softmax(nb::handle x, nb::handle out, int threads) {
  pair_of_tensors pair(x, out);
  if (!pair.from.axes) refuse("x", "x is a single number; it must have rows");
  int64_t dim = pair.from.shape[pair.from.axes - 1];
  run_tasks(dim ? pair.count / dim : 0, 2 * work_of_element * static_cast<double>(pair.count), threads,
            [&pair, dim](int64_t row) { log_softmax_of_row(pair.x() + row * dim, pair.y() + row * dim, dim); });
  return pair.object;
}

} // namespace

void bind_functions(nb::module_ &module) {
  module.def(
      "apply", apply, nb::arg("x"), nb::arg("function"), nb::kw_only(), nb::arg("base") = 0.0,
      nb::arg("out") = nb::none(), nb::arg("threads") = 0,
      nb::sig("def apply(x: Tensor, function: str, *, base: float = 0.0, out: Tensor | None = None, threads: int "
              "= 0) -> Tensor"),
      "'exp', 'log', 'tanh', 'sigmoid', 'sin', 'cos' or 'power', base to the power of x, of each number of a\n"
      "contiguous float32 tensor: of float64 functions with one answer, rounded. |x| of 'sin' and 'cos' is at "
      "most\n"
      "2^20. `out` may be x.");
  module.def(
      "sums", sum, nb::arg("x"), nb::kw_only(), nb::arg("squares") = false, nb::arg("threads") = 0,
      nb::sig("def sums(x: Tensor, *, squares: bool = False, threads: int = 0) -> Tensor"),
      "Sums over the middle one of three axes, (outer, inner), of a contiguous float32 tensor; with squares, of\n"
      "its numbers' squares: sixteen sums by the index mod 16, then one (docs/numerics.md, L3).");
  module.def("log_softmax", log_softmax, nb::arg("x"), nb::kw_only(), nb::arg("out") = nb::none(),
             nb::arg("threads") = 0,
             nb::sig("def log_softmax(x: Tensor, *, out: Tensor | None = None, threads: int = 0) -> Tensor"),
             "ln(softmax(x)) of rows of a contiguous float32 tensor, computed in float64. `out` may be x.");
}

} // namespace fovea_python
