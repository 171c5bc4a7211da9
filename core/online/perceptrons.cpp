#include "online/perceptrons.hpp"

#include <algorithm>
#include <utility>

#include "parallel.hpp"
#include "random.hpp"

namespace podium {

Perceptrons::Perceptrons(std::size_t width, std::size_t thresholds, std::vector<double> shares)
    : width_(width),
      n_thresholds_(thresholds),
      shares_(std::move(shares)),
      weights_(shares_.size() * width, 0.0),
      thresholds_(shares_.size() * thresholds, 0.0) {}

Tally Perceptrons::pass(const OnlineData& data, std::uint64_t seed, std::uint64_t round, int num_threads) {
  const std::size_t threads = std::min<std::size_t>(count(), static_cast<std::size_t>(std::max(num_threads, 1)));
  const std::size_t grain = (count() + threads - 1) / threads;
  OnlineBlock block(width_);
  std::vector<std::uint64_t> drawn(kOnlineBlock);
  std::vector<Tally> tallies(count());
  for (std::size_t begin = 0; begin < data.rows.size(); begin += kOnlineBlock) {
    check_interrupt();
    const std::size_t end = std::min(begin + kOnlineBlock, data.rows.size());
    block.fill(data.features.data(), data.rows.subspan(begin, end - begin), data.map);
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t key = data.keys[static_cast<std::size_t>(data.rows[i])];
      drawn[i - begin] = splitmix64(splitmix64(splitmix64(seed) ^ round) ^ key);
    }
    const bool worth = count() * (end - begin) * width_ > 100'000;
    parallel_for(count(), worth ? num_threads : 1, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t p = first; p < last; ++p) tallies[p] += learn(p, data, begin, end, block, drawn.data());
    });
  }
  Tally total;
  for (const Tally& tally : tallies) total += tally;
  return total;
}

Tally Perceptrons::learn(std::size_t perceptron, const OnlineData& data, std::size_t begin, std::size_t end,
                         OnlineBlock& block, const std::uint64_t* drawn) {
  const DenseKernels& kernels = dense_kernels();
  double* const w = weights_.data() + perceptron * width_;
  double* const b = thresholds_.data() + perceptron * n_thresholds_;
  const double share = shares_[perceptron];
  Tally tally;
  for (std::size_t i = begin; i < end; ++i) {
    const double coin = static_cast<double>(splitmix64(drawn[i - begin] ^ perceptron) >> 11) * 0x1.0p-53;
    if (!(coin < share)) continue;
    const double* const x = block.row(i - begin);
    double score = 0;
    kernels.dots(1, width_, x, block.stride(), w, 0.0, &score);
    const auto level = static_cast<std::size_t>(data.levels[static_cast<std::size_t>(data.rows[i])]);
    const double sum = prank_step(score, level, n_thresholds_, b, tally);
    if (sum != 0) kernels.step(width_, sum, x, w);
  }
  return tally;
}

}  // namespace podium
