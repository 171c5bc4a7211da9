// Quadratic functions, f(x) = xᵀ A x + w·x + c, and the PRanks that learn them: whole, or as the sum over support
// documents f(x) = Σ_s α_s (1 + x·x_s)², which is the same function with A = Σ α x xᵀ, w = 2 Σ α x, c = Σ α.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "online/levels.hpp"
#include "parallel.hpp"

namespace podium {

// A document of a block that moved the function: f += amount · (1 + x·x_row)².
struct Change {
  std::size_t row;
  double amount;
};

class Quadratic {
 public:
  explicit Quadratic(std::size_t width);

  std::size_t width() const { return width_; }
  // A [width × width], w, c in one vector.
  std::size_t size() const { return width_ * width_ + width_ + 1; }
  void set(std::span<const double> given);
  void get(double* given) const;

  // f of the first `rows` documents of a block.
  void scores(OnlineBlock& block, std::size_t rows, int num_threads, double* out);
  // A += Σ amount · x xᵀ, w += linear · Σ amount · x, c += Σ amount.
  void add(OnlineBlock& block, std::span<const Change> changes, double linear, int num_threads);

 private:
  std::size_t stride() const { return row_stride(width_); }
  std::size_t panels() const { return (round_up(width_, 4) + kPanel - 1) / kPanel; }
  std::size_t columns(std::size_t panel) const;

  std::size_t width_;
  std::vector<double> matrix_;  // [width × stride]
  std::vector<double> linear_;
  double constant_ = 0;
  std::vector<double> sums_, raised_, taken_;  // memory for one block
};

// Support documents, at most `budget` of them between two blocks: if there are more, those that contribute least
// to f by |α| · (1 + ‖x‖²) are dropped.
class Supports {
 public:
  Supports(std::size_t width, std::size_t budget) : width_(width), budget_(budget) {}

  std::size_t count() const { return alpha_.size(); }
  void scores(OnlineBlock& block, std::size_t rows, int num_threads, double* out);
  void add(OnlineBlock& block, std::span<const Change> changes, std::span<const std::uint64_t> keys);
  void append(const double* inputs, double alpha, std::uint64_t key);
  void get(std::size_t slot, double* inputs) const;
  double alpha(std::size_t slot) const { return alpha_[slot]; }
  std::uint64_t key(std::size_t slot) const { return keys_[slot]; }

 private:
  double* place(std::size_t slot) { return inputs_.data() + slot / kPanel * width_ * kPanel + slot % kPanel; }
  void remove(std::size_t slot);
  void keep_budget();

  std::size_t width_, budget_;
  std::vector<double> inputs_;  // in panels of kPanel documents, each [width × kPanel]
  std::vector<double> alpha_, size_;
  std::vector<std::uint64_t> keys_;
  std::unordered_map<std::uint64_t, std::size_t> slots_;
  std::vector<double> sums_;
};

// One pass of PRank over documents with a quadratic function. Blocks of documents are scored by the function
// before the block; the changes made by documents of the block are added to the scores of those that follow.
Tally prank_pass(Quadratic& function, std::span<double> thresholds, const OnlineData& data, int num_threads);
Tally prank_pass(Supports& function, std::span<double> thresholds, const OnlineData& data, int num_threads);

// f of every row.
void quadratic_scores(Quadratic& function, std::span<const float> features, std::size_t rows, const InputMap& map,
                      int num_threads, double* out);
// The function whose A, w, c are Σ force · x xᵀ, Σ force · x, Σ force: the slopes of Σ force · f.
void quadratic_backward(Quadratic& zero, std::span<const float> features, std::size_t rows, const InputMap& map,
                        std::span<const double> force, int num_threads);

}  // namespace podium
