#include "net/descent.hpp"

#include <algorithm>
#include <cmath>

namespace podium {
namespace {

constexpr double kEpsilon = 1e-8;          // Adam's ε
constexpr std::size_t kSmallQueries = 32;  // queries of a chunk of all but large nets

}  // namespace

Descent::Descent(const DenseNet& net, const Force& force, const NetTask& task, int num_threads)
    : net_(net),
      force_(force),
      own_(force_.learns() ? force_.parameters().size() : 0),
      task_(task),
      num_threads_(num_threads),
      batch_(net_, num_threads_) {
  const std::size_t held = net_.held_size() + own_;
  for (auto* vector : {&parameters_, &gradient_, &first_, &second_}) vector->assign(held, 0.0);
  force_values_.resize(own_);
  task_.table.parameters = force_values_;
  read_force_parameters();
}

void Descent::give(const LineVector<double>& held, double* given) const {
  net_.give(held, given);
  std::copy(held.begin() + static_cast<std::ptrdiff_t>(net_.held_size()), held.end(), given + net_.size());
}

void Descent::hold(std::span<const double> given, LineVector<double>& held) const {
  net_.hold(given.first(net_.size()), held.data());
  std::copy(given.begin() + static_cast<std::ptrdiff_t>(net_.size()), given.end(),
            held.begin() + static_cast<std::ptrdiff_t>(net_.held_size()));
}

void Descent::set_parameters(std::span<const double> given) {
  hold(given, parameters_);
  batch_.forget_weights();
  read_force_parameters();
}

void Descent::set_moments(std::span<const double> first, std::span<const double> second, std::uint64_t updates) {
  hold(first, first_), hold(second, second_);
  updates_ = updates;
}

void Descent::read_force_parameters() {
  if (own_) force_.parameters().to_values(parameters_.data() + net_.held_size(), force_values_.data());
}

// Whether a thread takes whole queries, with a gradient for each that fits into its own cache. Threads then exchange
// sums instead of documents.
bool Descent::is_small() const {
  constexpr std::size_t kNumbers = 1 << 15;
  return net_.held_size() <= kNumbers;
}

const float* Descent::features_of(std::int64_t query) const {
  return task_.features.data() + first_row(static_cast<std::size_t>(query)) * net_.shape().features();
}

// What the thread that has this query of the pass will probably read next, where as many threads take turns.
const float* Descent::features_after(const std::int64_t* query, std::size_t threads) const {
  return features_of(static_cast<std::size_t>(end_ - query) > threads ? query[threads] : *query);
}

// Returns the end of the chunk of queries that begins with one of them, given the number of documents of each query.
// The size of a chunk depends on the data alone, and with it the order of every sum.
template <class Documents>
std::size_t Descent::chunk_end(std::size_t begin, std::size_t queries, Documents&& documents) const {
  constexpr std::size_t kSmallRows = 8192;
  constexpr std::size_t kBytes = 1 << 21;  // the memory for a chunk of documents fits into the caches
  const bool small = is_small();
  const std::size_t most_rows = small ? kSmallRows : kBytes / batch_.row_bytes();
  const std::size_t last = small ? std::min(queries, begin + kSmallQueries) : queries;
  std::size_t end = begin, rows = 0;
  do {
    rows += documents(end++);
  } while (end < last && rows + documents(end) <= most_rows);
  return end;
}

std::vector<std::size_t> Descent::chunk_ends(std::span<const std::size_t> documents) const {
  std::vector<std::size_t> ends;
  while (ends.empty() ? !documents.empty() : ends.back() < documents.size()) {
    ends.push_back(chunk_end(ends.empty() ? 0 : ends.back(), documents.size(), [&](auto k) { return documents[k]; }));
  }
  return ends;
}

void Descent::start_chunk(std::size_t queries) {
  cost_.assign(queries, 0.0);
  force_on_values_.assign(queries * own_, 0.0);
}

// Takes queries in chunks.
double Descent::absorb(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  double cost = 0;
  for (std::size_t begin = 0, end = 0; begin < queries.size(); begin = end) {
    end = chunk_end(begin, queries.size(),
                    [&](std::size_t k) { return task_.table.documents(static_cast<std::size_t>(queries[k])); });
    const auto chunk = queries.subspan(begin, end - begin);
    start_chunk(chunk.size());
    // All threads share the rows of a single query.
    if (is_small() && chunk.size() > 1) {
      absorb_small(chunk, options, seen);
    } else {
      absorb_chunk(chunk, options, seen);
    }
    cost += add_costs(chunk.size());
  }
  return cost;
}

// One thread standardizes and scores a query, computes its forces and passes them back, while it is in the cache. The
// sums over documents follow for the whole chunk.
void Descent::absorb_chunk(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  const std::size_t width = net_.shape().features(), outputs = net_.shape().outputs();
  begin_.resize(queries.size() + 1);
  for (std::size_t k = 0; k < queries.size(); ++k) {
    begin_[k + 1] = begin_[k] + task_.table.documents(static_cast<std::size_t>(queries[k]));
  }
  const std::size_t rows = begin_.back();
  batch_.reserve(rows);
  const bool one = queries.size() == 1;
  const auto set_rows = [&](std::size_t k, std::size_t from, std::size_t to) {
    batch_.set_and_forward(parameters_.data(), features_of(queries[k]) + from * width, task_.map, begin_[k] + from,
                           begin_[k] + to);
  };
  if (one) {
    batch_.take_features(features_of(queries[0]), task_.map, features_after(&queries[0], 1));
    parallel_for(rows, batch_.worth() ? num_threads_ : 1, 32,
                 [&](std::size_t from, std::size_t to) { set_rows(0, from, to); });
  } else {
    batch_.prepare_backward(parameters_.data());
  }
  parallel_for(queries.size(), !one && (batch_.worth() || rows > 500) ? num_threads_ : 1, 1,
               [&](std::size_t k, std::size_t) {
                 const ScratchPool<QueryScratch>::Loan scratch(scratches_);
                 if (!one) set_rows(k, 0, begin_[k + 1] - begin_[k]);
                 double* const scores = batch_.scores() + begin_[k] * outputs;
                 push_query(static_cast<std::size_t>(queries[k]), k, scores, *scratch, options, seen);
                 if (!one) batch_.backward_rows(parameters_.data(), begin_[k], begin_[k + 1]);
               });
  if (one) {
    batch_.backward(parameters_.data(), gradient_.data());
  } else {
    batch_.add_weight_gradients(gradient_.data());
  }
}

// The same with a gradient for each query; these are added in the order of the queries.
void Descent::absorb_small(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  const std::size_t held = net_.held_size();
  push_small(queries, options, seen);
  const std::vector<double> ones(queries.size(), 1.0);
  parallel_for(held, num_threads_, 4096, [&](std::size_t first, std::size_t last) {
    dense_kernels().add_rows(queries.size(), last - first, ones.data(), query_gradients_.data() + first, held,
                             gradient_.data() + first);
  });
}

// Computes the gradient of each query.
void Descent::push_small(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  const std::size_t held = net_.held_size(), threads = std::min<std::size_t>(queries.size(), num_threads_);
  query_gradients_.resize(std::max(query_gradients_.size(), queries.size() * held));
  batch_.prepare_backward(parameters_.data());
  parallel_for(queries.size(), num_threads_, 1, [&](std::size_t k, std::size_t) {
    const ScratchPool<QueryScratch>::Loan loan(scratches_);
    QueryScratch& scratch = *loan;
    if (!scratch.batch) scratch.batch.emplace(net_, 1).share_weights(batch_);
    NetBatch& batch = *scratch.batch;
    const auto query = static_cast<std::size_t>(queries[k]);
    const std::size_t documents = task_.table.documents(query);
    const float* const features = features_of(queries[k]);
    batch.reserve(documents);
    batch.take_features(features, task_.map, features_after(&queries[k], threads));
    batch.set_and_forward(parameters_.data(), features, task_.map, 0, documents);
    push_query(query, k, batch.scores(), scratch, options, seen);
    batch.backward(parameters_.data(), query_gradients_.data() + k * held, true);
  });
}

// Replaces the scores of a query, the k-th of its chunk, by the forces on them.
void Descent::push_query(std::size_t q, std::size_t k, double* scores, QueryScratch& scratch,
                         const DescentOptions& options, double* seen) {
  const std::size_t outputs = net_.shape().outputs(), count = task_.table.documents(q) * outputs;
  if (seen) std::copy_n(scores, count, seen + first_row(q) * outputs);
  ForceQuery query = task_.table.query(q, std::span<const double>(scores, count));
  query.seed = options.seed, query.round = options.round;
  scratch.pushes.assign(count, 0.0);
  ForceSums sums{scratch.pushes.data()};
  if (options.cost) sums.cost = &cost_[k];
  if (own_) sums.parameter_force = force_on_values_.data() + k * own_;
  // Training has diverged, and no force is defined. The caller sees it from the scores and the cost.
  if (all_finite(query.scores)) {
    force_.compute(query, scratch.force, sums);
  } else {
    cost_[k] = std::nan("");
  }
  const double weight = task_.table.query_weight(q);
  for (std::size_t i = 0; i < count; ++i) scores[i] = weight * scratch.pushes[i];
  cost_[k] *= weight;
  for (std::size_t t = 0; t < own_; ++t) force_on_values_[k * own_ + t] *= weight;
}

// Returns the cost of a chunk, and adds what its queries say about the force's own parameters.
double Descent::add_costs(std::size_t queries) {
  double cost = 0;
  for (std::size_t k = 0; k < queries; ++k) {
    cost += cost_[k];
    if (own_) {
      const auto at = static_cast<std::ptrdiff_t>(net_.held_size());
      force_.parameters().add_free_force(parameters_.data() + at, force_on_values_.data() + k * own_,
                                         gradient_.data() + at);
    }
  }
  return cost;
}

// One pair as a query of its two documents. [RankNet's first form: two forward and two backward passes per update]
double Descent::absorb_pair(std::size_t query, const GivenPair& pair, bool given, const DescentOptions& options) {
  check_interrupt();
  const std::size_t width = net_.shape().features();
  const auto first = static_cast<std::size_t>(task_.table.query_offsets[query]);
  const std::size_t rows[2] = {first + pair.winner, first + pair.loser};
  batch_.reserve(2);
  double labels[2], weights[2], force[2] = {0, 0}, cost = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    batch_.set_inputs(k, k + 1, task_.features.data() + rows[k] * width, task_.map);
    labels[k] = task_.table.labels[rows[k]];
    weights[k] = task_.table.document_weights.empty() ? 1.0 : task_.table.document_weights[rows[k]];
  }
  batch_.forward_rows(parameters_.data(), 0, 2);
  const GivenPair alone{0, 1, pair.probability, pair.weight};
  ForceQuery two;
  two.scores = {batch_.scores(), 2}, two.labels = labels, two.weights = weights;
  two.has_pairs = given;
  if (given) two.pairs = {&alone, 1};
  ForceSums sums{force};
  if (options.cost) sums.cost = &cost;
  if (all_finite(two.scores)) {
    force_.compute(two, pair_scratch_, sums);
  } else {
    cost = std::nan("");
  }
  const double weight = task_.table.query_weight(query);
  for (std::size_t k = 0; k < 2; ++k) batch_.scores()[k] = weight * force[k];
  batch_.backward(parameters_.data(), gradient_.data());
  return weight * cost;
}

// All pairs of some queries, one after the other.
double Descent::absorb_pairs(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  double cost = 0;
  for (const std::int64_t q : queries) {
    const auto query = static_cast<std::size_t>(q);
    if (seen) score_query(query, seen);
    each_pair(query, [&](const GivenPair& pair, bool given) { cost += absorb_pair(query, pair, given, options); });
  }
  return cost;
}

template <class Visit>
void Descent::each_pair(std::size_t q, Visit&& visit) const {
  const ForceQuery query = task_.table.query(q, std::span<const double>());
  if (query.has_pairs) {
    for (const GivenPair& pair : query.pairs) visit(pair, true);
    return;
  }
  const auto n = static_cast<std::uint32_t>(query.labels.size());
  InterruptPace pace;
  for (std::uint32_t i = 0; i < n; ++i) {
    pace.step(n - i);
    for (std::uint32_t j = i + 1; j < n; ++j) {
      if (query.labels[i] != query.labels[j] || force_.spec().ties) visit(GivenPair{i, j, 1.0, 1.0}, false);
    }
  }
}

void Descent::update(double share, const DescentOptions& options) {
  const DenseKernels& kernels = dense_kernels();
  const std::size_t n = parameters_.size();
  const bool large = n > 4096;
  if (options.l2 > 0) {  // share · gradient − l2 · weights, on weights alone
    for (const Layer& layer : net_.layers()) {
      for (std::size_t j = layer.weights; j < layer.bias; ++j) gradient_[j] -= options.l2 / share * parameters_[j];
    }
  }
  ++updates_;
  const auto t = static_cast<double>(updates_);
  const double root = std::sqrt(1 - std::pow(0.999, t)), correction = root / (1 - std::pow(0.9, t));
  parallel_for(n, large ? num_threads_ : 1, 2048, [&](std::size_t first, std::size_t last) {
    double* const g = gradient_.data() + first;
    double* const w = parameters_.data() + first;
    const std::size_t count = last - first;
    switch (options.optimizer) {
      case Optimizer::sgd:
        kernels.step(count, options.rate * share, g, w);
        break;
      case Optimizer::adam:
        for (std::size_t j = 0; j < count; ++j) g[j] *= share;
        kernels.adam(count, options.rate * correction, kEpsilon * root, g, first_.data() + first,
                     second_.data() + first, w);
        break;
    }
    std::fill_n(g, count, 0.0);
  });
  batch_.forget_weights();
  read_force_parameters();
}

double Descent::pass(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen) {
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  double cost = 0;
  if (options.per_pair && options.batch == 0) {
    for (const std::int64_t q : queries) {
      const auto query = static_cast<std::size_t>(q);
      if (seen) score_query(query, seen);
      double pairs = 0;
      each_pair(query, [&](const GivenPair&, bool) { ++pairs; });
      DescentOptions shared = options;
      shared.l2 /=
          std::max(pairs, 1.0);  // the pairs of a query together are regularized as strongly as the query would be
      each_pair(query, [&](const GivenPair& pair, bool given) {
        cost += absorb_pair(query, pair, given, options);
        update(1.0, shared);
      });
    }
    return cost;
  }
  const std::size_t batch = std::max<std::size_t>(options.batch, 1);
  end_ = queries.data() + queries.size();
  for (std::size_t begin = 0; begin < queries.size(); begin += batch) {
    check_interrupt();
    const auto part = queries.subspan(begin, std::min(batch, queries.size() - begin));
    cost += options.per_pair ? absorb_pairs(part, options, seen) : absorb(part, options, seen);
    update(1.0 / static_cast<double>(part.size()), options);
  }
  return cost;
}

double Descent::gradient(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen,
                         double* sums) {
  hold({sums, size()}, gradient_);
  end_ = queries.data() + queries.size();
  const double cost = options.per_pair ? absorb_pairs(queries, options, seen) : absorb(queries, options, seen);
  give(gradient_, sums);
  return cost;
}

void Descent::query_gradients(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen,
                              double* costs, double* gradients) {
  const std::size_t held = net_.held_size();
  end_ = queries.data() + queries.size();
  for (std::size_t begin = 0; begin < queries.size(); begin += kSmallQueries) {
    check_interrupt();
    const auto chunk = queries.subspan(begin, std::min(kSmallQueries, queries.size() - begin));
    start_chunk(chunk.size());
    push_small(chunk, options, seen);
    for (std::size_t k = 0; k < chunk.size(); ++k) {
      double* const out = gradients + (begin + k) * size();
      net_.give({query_gradients_.data() + k * held, held}, out);
      if (!own_) continue;
      std::fill_n(out + net_.size(), own_, 0.0);
      force_.parameters().add_free_force(parameters_.data() + held, force_on_values_.data() + k * own_,
                                         out + net_.size());
    }
    std::copy(cost_.begin(), cost_.end(), costs + begin);
  }
}

void Descent::apply(std::span<const double> sum, std::size_t queries, const DescentOptions& options) {
  hold(sum, gradient_);
  update(1.0 / static_cast<double>(queries), options);
}

void Descent::score_query(std::size_t query, double* seen) {
  const std::size_t width = net_.shape().features(), n = task_.table.documents(query);
  const auto first = static_cast<std::size_t>(task_.table.query_offsets[query]);
  batch_.reserve(n);
  batch_.set_inputs(0, n, task_.features.data() + first * width, task_.map);
  batch_.forward_rows(parameters_.data(), 0, n);
  std::copy_n(batch_.scores(), n, seen + first);
}

}  // namespace podium
