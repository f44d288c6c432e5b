/* The one C++ file of the benchmarks: what harness.h declares, on Google Benchmark. */
#include "harness.h"
#include "progress.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

struct bench_round {
  benchmark::State &state;
};

namespace {

/* What the report calls spread: the middle half of the rounds, as a share of their median. */
double spread(const std::vector<double> &rounds) {
  std::vector<double> sorted(rounds);
  std::sort(sorted.begin(), sorted.end());
  auto quantile = [&](double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  const double median = quantile(0.5);
  return median != 0.0 ? (quantile(0.75) - quantile(0.25)) / median : 0.0;
}

/* Why a run was skipped; empty if it was not. Google Benchmark 1.8 has another name for it. */
template <typename AnyRun> auto skip_reason(const AnyRun &run, int) -> decltype(run.skip_message) {
  return run.skip_message;
}
template <typename AnyRun> auto skip_reason(const AnyRun &run, long) -> decltype(run.error_message) {
  return run.error_message;
}

/* One line for each benchmark: the medians, and in brackets the spread of the time. */
class MedianReporter : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context &context) override {
    PrintBasicContext(&GetErrorStream(), context);
    return true;
  }

  /* Called once with the rounds and, if there is more than one round, again with their aggregates. */
  void ReportRuns(const std::vector<Run> &runs) override {
    const Run *shown = nullptr;
    double time_spread = 0.0;
    for (const Run &run : runs) {
      const bool alone =
          run.run_type == Run::RT_Iteration && (run.repetitions == 1 || !skip_reason(run, 0).empty());
      if (run.aggregate_name == "median" || (alone && !shown)) shown = &run;
      if (run.aggregate_name == "spread") time_spread = run.real_accumulated_time;
    }
    progress_clear();
    if (shown) Print(*shown, time_spread);
  }

private:
  static void Print(const Run &run, double time_spread) {
    const std::string name = run.run_name.function_name;
    const std::string skipped = skip_reason(run, 0);
    if (!skipped.empty()) {
      std::printf("%-56s skipped: %s\n", name.c_str(), skipped.c_str());
    } else {
      std::printf("%-56s %11.4g %s (%.1f%%)", name.c_str(), run.GetAdjustedRealTime(),
                  benchmark::GetTimeUnitString(run.time_unit), 100.0 * time_spread);
      for (const auto &counter : run.counters)
        std::printf("  %s %.4g", counter.first.c_str(), counter.second.value);
      std::printf("\n");
    }
    std::fflush(stdout);
  }
};

std::vector<std::string> registered;

/* How many of the registered benchmarks pass the caller's filter. */
int CountSelected() {
  std::string filter = benchmark::GetBenchmarkFilter();
  if (filter.empty() || filter == "all") return static_cast<int>(registered.size());
  const bool excludes = filter[0] == '-';
  const std::regex wanted(excludes ? filter.substr(1) : filter, std::regex_constants::extended);
  return static_cast<int>(std::count_if(registered.begin(), registered.end(), [&](const std::string &name) {
    return std::regex_search(name + "/iterations:1/manual_time", wanted) != excludes;
  }));
}

} // namespace

extern "C" void bench_register(const char *name, bench_function function, const void *argument, bench_unit unit) {
  const std::string shown_name = name;
  registered.push_back(shown_name);
  auto run = [function, argument, shown_name](benchmark::State &state) {
    progress_show(shown_name.c_str());
    bench_round round{state};
    for (auto _ : state) function(&round, argument);
  };
  benchmark::RegisterBenchmark(name, run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(unit == BENCH_NANOSECONDS ? benchmark::kNanosecond : benchmark::kMillisecond)
      ->ComputeStatistics("spread", spread, benchmark::kPercentage);
}

extern "C" void bench_seconds(bench_round *round, double seconds) {
  round->state.SetIterationTime(seconds);
}

extern "C" void bench_counter(bench_round *round, const char *name, double value) {
  round->state.counters[name] = value;
}

extern "C" void bench_skip(bench_round *round, const char *reason) {
  round->state.SkipWithError(reason);
}

extern "C" void bench_context(const char *key, const char *value) {
  benchmark::AddCustomContext(key, value);
}

extern "C" int bench_run(int argc, char **argv) {
  std::string rounds = "--benchmark_repetitions=11"; /* the caller's own flags come after and win */
  std::vector<char *> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, &rounds[0]);
  arguments.push_back(nullptr);
  int count = argc + 1;
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  progress_begin(CountSelected());
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
