// Counts the work of LambdaRank's force on one query: how many basic blocks the core executes. Compiled with
// -fsanitize-coverage=trace-pc, the core calls the function below in each of them. The clock has no part in it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "forces/force.hpp"
#include "forces/kernels.hpp"
#include "metrics/kernels.hpp"
#include "random.hpp"

namespace {
std::uint64_t blocks = 0;
}

extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc() {
  ++blocks;
}

int main() {
  using namespace podium;
  const auto rows = lambda_forces();
  const auto lambdarank =
      std::find_if(rows.begin(), rows.end(), [](const ForceKernel& row) { return row.name == "lambdarank"; });
  for (const std::string_view name : kernel_names()) {
    const MetricKernel* const kernel = find_kernel(name);
    if (kernel->family == MetricFamily::list) continue;  // their deltas call a user's function for each pair
    for (const bool few : {false, true}) {
      for (const std::size_t n : {500, 1000, 2000}) {
        ForceSpec spec;
        spec.kernel = &*lambdarank;
        spec.metric.kernel = kernel;
        spec.metric.numbers = {{"max", 4}, {"persistence", 0.99}};
        const Force force(spec, n);
        std::vector<double> scores(n), labels(n), forces(n), curvature(n);
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t position = i * 7919 % n;  // each once, since 7919 is a prime
          scores[i] = -static_cast<double>(position) / static_cast<double>(n);
          labels[i] = few ? position % (n / 8) == n / 16 : static_cast<double>(splitmix64(i) % 5);
        }
        ForceScratch scratch;
        const ForceQuery query{.scores = scores, .labels = labels, .weights = {}, .pairs = {}, .parameters = {}};
        blocks = 0;
        force.compute(query, scratch, {.force = forces.data(), .curvature = curvature.data()});
        std::printf("%.*s %s %zu %llu\n", static_cast<int>(name.size()), name.data(), few ? "few" : "many", n,
                    static_cast<unsigned long long>(blocks));
      }
    }
  }
}
