// Linear PRanks that learn side by side: every document is read once, and each of them learns from it or skips it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "online/levels.hpp"

namespace podium {

class Perceptrons {
 public:
  // One perceptron per share: the probability with which it learns from a document.
  Perceptrons(std::size_t width, std::size_t thresholds, std::vector<double> shares);

  std::size_t count() const { return shares_.size(); }
  std::vector<double>& weights() { return weights_; }        // [count × width]
  std::vector<double>& thresholds() { return thresholds_; }  // [count × thresholds]

  // A perceptron learns from a document if a number drawn from (seed, round, the document's key, its own number) is
  // below its share. Perceptrons are independent, so that the result does not depend on the number of threads.
  Tally pass(const OnlineData& data, std::uint64_t seed, std::uint64_t round, int num_threads);

 private:
  Tally learn(std::size_t perceptron, const OnlineData& data, std::size_t begin, std::size_t end, OnlineBlock& block,
              const std::uint64_t* drawn);

  std::size_t width_, n_thresholds_;
  std::vector<double> shares_, weights_, thresholds_;
};

}  // namespace podium
