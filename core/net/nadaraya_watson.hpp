// The Nadaraya–Watson estimator: s(x) = Σ_t m_t K_t y_t / Σ_t m_t K_t, log K_t = −½ Σ_f a_f² (x_f − x_tf)², over
// reference documents with inputs x_t, labels y_t and masses m_t; and the forces on the widths a_f.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace podium {

// The label and the log mass of each reference; log m_t is minus infinity for one that is left out. At least one is
// finite.
struct Votes {
  std::span<const double> log_mass, labels;
};

// Rows of inputs to score, one after the other.
struct VoteRows {
  const double* inputs;
  std::size_t count;
};

class NadarayaWatsonKernel {
 public:
  NadarayaWatsonKernel(std::span<const double> references, std::size_t features);

  std::size_t features() const { return features_; }
  std::size_t references() const { return references_; }
  void set_widths(std::span<const double> widths);

  // Scores of the rows. With `keep`, the kernel values are kept for a backward over the same rows, unless they are too
  // many.
  void scores(const VoteRows& rows, const Votes& votes, bool keep, int num_threads, double* out);
  // gradient_f = Σ_i force_i · ∂s_i/∂a_f. With `kept`, it overwrites the values that the last call of scores kept, for
  // the same rows and votes.
  void backward(const VoteRows& rows, const Votes& votes, const double* force, bool kept, int num_threads,
                double* gradient);

 private:
  struct Workspace;
  std::vector<double> biases(const Votes& votes) const;
  void vote(const double* inputs, std::size_t count, const double* bias, const Votes& votes, double* scaled,
            double* kernel, double* total, double* scores) const;
  void push(const double* inputs, std::size_t count, const Votes& votes, const double* force, const double* total,
            const double* scores, Workspace& workspace, double* kernel, double* gradient) const;

  std::size_t features_, references_, stride_, columns_;  // distance of rows of references, and of kernel values
  std::vector<double> rows_, squares_, panels_;           // x_t; x_t²; x_t in panels, one row per feature
  std::vector<double> widths_, squared_widths_, ones_;
  std::vector<double> kept_, kept_total_, kept_scores_;
  std::size_t kept_count_ = 0;
};

}  // namespace podium
