#include "net/nadaraya_watson.hpp"

#include <algorithm>

#include "net/dense.hpp"
#include "parallel.hpp"

namespace podium {
namespace {

constexpr std::size_t kRows = 16;    // documents processed at once; sums over documents are computed in such chunks
constexpr std::size_t kDepth = 256;  // references that are processed for one panel of features before the next panel
constexpr double kNothing = 1e-290;  // kernel values below this share of the largest are 0, as are those left out
constexpr std::size_t kMostKept = 16'000'000;  // maximum number of kernel values that are kept

// Separate lanes, so that the compiler can vectorize; the maximum does not depend on the order.
double largest(std::size_t n, const double* x) {
  double best[8];
  std::fill_n(best, 8, x[0]);
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
    for (std::size_t k = 0; k < 8; ++k) best[k] = x[j + k] > best[k] ? x[j + k] : best[k];
  }
  for (; j < n; ++j) best[0] = std::max(best[0], x[j]);
  return *std::max_element(best, best + 8);
}

}  // namespace

// The memory that one thread needs for the gradient of a chunk.
struct NadarayaWatsonKernel::Workspace {
  std::vector<double> scaled, kernel, shares, sums;
};

NadarayaWatsonKernel::NadarayaWatsonKernel(std::span<const double> references, std::size_t features)
    : features_(features),
      references_(references.size() / features),
      stride_(row_stride(features)),
      columns_(row_stride(references_)),
      rows_(references_ * stride_, 0.0),
      squares_(references_ * stride_, 0.0),
      panels_(round_up(references_, 4) * features, 0.0),
      widths_(features, 0.0),
      squared_widths_(features, 0.0),
      ones_(std::max(references_, kRows), 1.0) {
  const std::size_t padded = round_up(references_, 4);
  for (std::size_t t = 0; t < references_; ++t) {
    const std::size_t first = t / kPanel * kPanel, width = std::min(kPanel, padded - first);
    for (std::size_t f = 0; f < features_; ++f) {
      const double x = references[t * features_ + f];
      rows_[t * stride_ + f] = x;
      squares_[t * stride_ + f] = x * x;
      panels_[first * features_ + f * width + (t - first)] = x;
    }
  }
}

void NadarayaWatsonKernel::set_widths(std::span<const double> widths) {
  kept_count_ = 0;
  for (std::size_t f = 0; f < features_; ++f) {
    widths_[f] = widths[f];
    squared_widths_[f] = widths[f] * widths[f];
  }
}

// log m_t − ½ Σ_f a_f² x_tf², the part of log m_t K_t that depends on the reference alone. The part that depends on the
// document alone cancels.
std::vector<double> NadarayaWatsonKernel::biases(const Votes& votes) const {
  std::vector<double> out(columns_, 0.0);
  dense_kernels().dots(references_, features_, squares_.data(), stride_, squared_widths_.data(), 0.0, out.data());
  for (std::size_t t = 0; t < references_; ++t) out[t] = votes.log_mass[t] - 0.5 * out[t];
  return out;
}

// kernel[i][t] = m_t K_t up to a factor that makes the largest 1, total[i] their sum, scores[i] the mean label.
void NadarayaWatsonKernel::vote(const double* inputs, std::size_t count, const double* bias, const Votes& votes,
                                double* scaled, double* kernel, double* total, double* scores) const {
  const DenseKernels& dense = dense_kernels();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t f = 0; f < features_; ++f) {
      scaled[i * features_ + f] = squared_widths_[f] * inputs[i * features_ + f];
    }
  }
  const std::size_t padded = round_up(references_, 4);
  InterruptPace pace;
  for (std::size_t first = 0; first < padded; first += kPanel) {
    const std::size_t width = std::min(kPanel, padded - first);
    pace.step(count * features_);
    dense.multiply({.rows = count,
                    .columns = width,
                    .depth = features_,
                    .a = scaled,
                    .a_row = features_,
                    .a_step = 1,
                    .b = panels_.data() + first * features_,
                    .b_row = width,
                    .start = bias + first,
                    .start_row = 0,
                    .c = kernel + first,
                    .c_row = columns_});
  }
  for (std::size_t i = 0; i < count; ++i) {
    double* const row = kernel + i * columns_;
    const double most = largest(references_, row);
    for (std::size_t t = 0; t < references_; ++t) row[t] -= most;
    dense.exponentials(references_, row);
    for (std::size_t t = 0; t < references_; ++t) row[t] = row[t] < kNothing ? 0.0 : row[t];
    for (std::size_t t = references_; t < columns_; ++t) row[t] = 0.0;
  }
  dense.dots(count, references_, kernel, columns_, ones_.data(), 0.0, total);
  dense.dots(count, references_, kernel, columns_, votes.labels.data(), 0.0, scores);
  for (std::size_t i = 0; i < count; ++i) scores[i] /= total[i];
}

void NadarayaWatsonKernel::scores(const VoteRows& rows, const Votes& votes, bool keep, int num_threads, double* out) {
  const std::vector<double> bias = biases(votes);
  if (keep) kept_count_ = 0;
  keep = keep && rows.count * columns_ <= kMostKept;
  if (keep) {
    if (kept_.size() < rows.count * columns_) kept_.resize(rows.count * columns_);
    kept_total_.resize(rows.count);
    kept_scores_.resize(rows.count);
  }
  parallel_for(rows.count, num_threads, kRows, [&](std::size_t first, std::size_t last) {
    const std::size_t count = last - first;
    std::vector<double> scaled(count * features_), own(keep ? 0 : count * columns_), total(count);
    double* const kernel = keep ? kept_.data() + first * columns_ : own.data();
    vote(rows.inputs + first * features_, count, bias.data(), votes, scaled.data(), kernel, total.data(), out + first);
    if (keep) std::copy(total.begin(), total.end(), kept_total_.begin() + static_cast<std::ptrdiff_t>(first));
  });
  if (!keep) return;
  std::copy_n(out, rows.count, kept_scores_.begin());
  kept_count_ = rows.count;
}

// With p_t = m_t K_t / Σ m K and W_t = λ p_t (y_t − s), whose sum over t is 0, the force of a document on a_f is
// −a_f Σ_t W_t (x_tf² − 2 x_f x_tf).
void NadarayaWatsonKernel::push(const double* inputs, std::size_t count, const Votes& votes, const double* force,
                                const double* total, const double* scores, Workspace& workspace, double* kernel,
                                double* gradient) const {
  const DenseKernels& dense = dense_kernels();
  for (std::size_t i = 0; i < count; ++i) {
    double* const row = kernel + i * columns_;
    const double strength = force[i] / total[i], score = scores[i];
    for (std::size_t t = 0; t < references_; ++t) row[t] *= strength * (votes.labels[t] - score);
  }
  workspace.shares.assign(columns_, 0.0);
  dense.add_rows(count, columns_, ones_.data(), kernel, columns_, workspace.shares.data());
  workspace.sums.assign((kRows + 1) * stride_, 0.0);
  double* const own = workspace.sums.data() + kRows * stride_;
  dense.add_rows(references_, features_, workspace.shares.data(), squares_.data(), stride_, own);
  const std::size_t padded = round_up(features_, 4);
  InterruptPace pace;
  for (std::size_t begin = 0; begin < references_; begin += kDepth) {
    pace.step(count * features_ * (kDepth / kPanel));
    const std::size_t depth = std::min(kDepth, references_ - begin);
    for (std::size_t first = 0; first < padded; first += kPanel) {
      double* const sums = workspace.sums.data() + first;
      dense.multiply({.rows = count,
                      .columns = std::min(kPanel, padded - first),
                      .depth = depth,
                      .a = kernel + begin,
                      .a_row = columns_,
                      .a_step = 1,
                      .b = rows_.data() + begin * stride_ + first,
                      .b_row = stride_,
                      .start = sums,
                      .start_row = stride_,
                      .c = sums,
                      .c_row = stride_});
    }
  }
  for (std::size_t f = 0; f < features_; ++f) {
    double crossed = 0.0;
    for (std::size_t i = 0; i < count; ++i) crossed += inputs[i * features_ + f] * workspace.sums[i * stride_ + f];
    gradient[f] = widths_[f] * (2.0 * crossed - own[f]);
  }
}

void NadarayaWatsonKernel::backward(const VoteRows& rows, const Votes& votes, const double* force, bool kept,
                                    int num_threads, double* gradient) {
  kept = kept && kept_count_ == rows.count;
  if (kept) kept_count_ = 0;
  const std::vector<double> bias = kept ? std::vector<double>() : biases(votes);
  const std::size_t chunks = (rows.count + kRows - 1) / kRows;
  std::vector<double> parts(chunks * features_);
  parallel_for(rows.count, num_threads, kRows, [&](std::size_t first, std::size_t last) {
    const std::size_t count = last - first;
    const double* const inputs = rows.inputs + first * features_;
    double total[kRows], scores[kRows];
    Workspace workspace;
    double* kernel = kept_.data() + first * columns_;
    if (kept) {
      std::copy_n(kept_total_.data() + first, count, total);
      std::copy_n(kept_scores_.data() + first, count, scores);
    } else {
      workspace.scaled.resize(count * features_);
      workspace.kernel.resize(count * columns_);
      kernel = workspace.kernel.data();
      vote(inputs, count, bias.data(), votes, workspace.scaled.data(), kernel, total, scores);
    }
    push(inputs, count, votes, force + first, total, scores, workspace, kernel,
         parts.data() + first / kRows * features_);
  });
  std::fill_n(gradient, features_, 0.0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t f = 0; f < features_; ++f) gradient[f] += parts[chunk * features_ + f];
  }
}

}  // namespace podium
