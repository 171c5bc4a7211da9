// Sums over all ordered pairs of edges by interpolation: O(E), each term to a relative 1e−8.
//
// A term depends on t − c alone. The line of t and c is cut into panels, and inside a pair of panels a term is a
// polynomial in both. Of the edges in a panel only the moments Σ v T_m are needed; of all panels near another, a series
// in T_k. Panels at least 20 apart see each other through e^{−|t − c|}, the first term of what is left there. No range
// of scores is too wide: panels without edges cost nothing.
#include <numeric>

#include "exponentials.hpp"
#include "forces/cdn.hpp"
#include "forces/chebyshev.hpp"
#include "forces/panels.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

// Where the sums of each edge go, by kernel; null where they are not asked for.
struct Wanted {
  double *value = nullptr, *slope = nullptr, *bend = nullptr;
};

// Four edges a step, by T_{k + 1} = 2x T_k − T_{k − 1}.
PODIUM_INLINE void add_moments(Panels& panels, const double* weight) {
  for (std::size_t p = 0; p < panels.size(); ++p) {
    Four sums[kNodes] = {};
    const std::size_t begin = panels.begin[p], end = panels.begin[p + 1];
    for (InterruptBlocks block(end - begin, 1); block.next();) {
      for (std::size_t k = begin + block.begin(); k < begin + block.end(); k += 4) {
        const std::uint32_t* const e = &panels.order[k];
        const std::size_t left = end - k;  // what goes beyond the panel has no weight
        const Four v = {weight[e[0]], left > 1 ? weight[e[1]] : 0.0, left > 2 ? weight[e[2]] : 0.0,
                        left > 3 ? weight[e[3]] : 0.0};
        const Four x = load_four(&panels.x[k]), twice = x + x;
        Four before = v, at = v * x;
        sums[0] += before, sums[1] += at;
#pragma GCC unroll 16
        for (std::size_t m = 2; m < kNodes; ++m) {
          const Four next = twice * at - before;
          sums[m] += next, before = at, at = next;
        }
      }
    }
    for (std::size_t m = 0; m < kNodes; ++m) panels.moments[p * kNodes + m] = sum(sums[m]);
  }
}
void add_moments_portable(Panels& panels, const double* weight) {
  add_moments(panels, weight);
}
PODIUM_AVX2 void add_moments_avx2(Panels& panels, const double* weight) {
  add_moments(panels, weight);
}

// Adds the series of a kernel over panels `apart` panels to the left of the place, from their moments.
PODIUM_INLINE void add_near(Lanes& series, Kernel which, int apart, const double* moments) {
  const Series* const pairs = tables().pairs[which][apart + kNear];
  for (std::size_t m = 0; m < kNodes; ++m) add(series, load(pairs[m].data()), moments[m]);
}

// What panels too far away to meet by polynomials sum up to, as seen from the panel at hand.
struct Far {
  double count = 0, sum = 0;  // of those to the left: Σ v and Σ v c
  double left = 0;            // Σ v e^{c − center} of them
  std::vector<double> right;  // Σ v e^{center − c} of those to the right, for each panel
};

// Σ over the places of `sources` of the kernels at the distance from them, for each place of `targets`.
class Sums {
 public:
  Sums(const Panels& targets, const Panels& sources, const Wanted& wanted)
      : targets_(targets), sources_(sources), wanted_(wanted) {
    far_right();
  }

  PODIUM_INLINE void run() {
    std::size_t begin = 0, end = 0;  // the sources that are near
    InterruptPace pace;
    for (std::size_t p = 0; p < targets_.size(); ++p) {
      pace.step(targets_.begin[p + 1] - targets_.begin[p]);
      if (p > 0) far_.left *= std::exp(2 * (targets_.id[p - 1] - targets_.id[p]));
      for (; begin < sources_.size() && sources_.id[begin] < targets_.id[p] - kNear; ++begin) pass(begin, p);
      end = std::max(end, begin);
      while (end < sources_.size() && sources_.id[end] <= targets_.id[p] + kNear) ++end;
      write(p, begin, end);
    }
  }

 private:
  double exponential_sum(std::size_t source, const Series& exponential) const {
    double total = 0;
    for (std::size_t k = 0; k < kNodes; ++k) total += exponential[k] * sources_.moments[source * kNodes + k];
    return total;
  }

  // A source falls behind on the left.
  void pass(std::size_t source, std::size_t p) {
    const double* const moments = &sources_.moments[source * kNodes];
    far_.count += moments[0];
    far_.sum += sources_.center(source) * moments[0] + moments[1];
    far_.left += exponential_sum(source, tables().rise) * std::exp(2 * (sources_.id[source] - targets_.id[p]));
  }

  void far_right() {
    far_.right.assign(targets_.size(), 0.0);
    std::size_t end = sources_.size();
    double right = 0;
    for (std::size_t p = targets_.size(); p-- > 0;) {
      if (p + 1 < targets_.size()) right *= std::exp(2 * (targets_.id[p] - targets_.id[p + 1]));
      for (; end > 0 && sources_.id[end - 1] > targets_.id[p] + kNear; --end) {
        right += exponential_sum(end - 1, tables().fall) * std::exp(2 * (targets_.id[p] - sources_.id[end - 1]));
      }
      far_.right[p] = right;
    }
  }

  PODIUM_INLINE Lanes series(std::size_t p, Kernel which, std::size_t begin, std::size_t end) const {
    Lanes out{};
    add(out, load(tables().rise.data()), far_.right[p]);
    add(out, load(tables().fall.data()), which == kSlope ? -far_.left : far_.left);
    if (which == kSlope) out.part[0][0] += far_.count;
    if (which == kValue) {
      out.part[0][0] += far_.count * targets_.center(p) - far_.sum;
      out.part[0][1] += far_.count;
    }
    for (std::size_t s = begin; s < end; ++s) {
      add_near(out, which, static_cast<int>(targets_.id[p] - sources_.id[s]), &sources_.moments[s * kNodes]);
    }
    return out;
  }

  PODIUM_INLINE void write(std::size_t p, std::size_t begin, std::size_t end) const {
    write(p, wanted_.slope, series(p, kSlope, begin, end));
    if (wanted_.value) write(p, wanted_.value, series(p, kValue, begin, end));
    if (wanted_.bend) write(p, wanted_.bend, series(p, kBend, begin, end));
  }

  // The series at the edges of the panel, four a step.
  PODIUM_INLINE void write(std::size_t p, double* out, const Lanes& lanes) const {
    Series series;
    store(series.data(), lanes);
    const std::size_t begin = targets_.begin[p], end = targets_.begin[p + 1];
    for (InterruptBlocks block(end - begin, 1); block.next();) {
      for (std::size_t k = begin + block.begin(); k < begin + block.end(); k += 4) {
        const Four x = load_four(&targets_.x[k]), twice = x + x;
        Four before = {1, 1, 1, 1}, at = x, total = series[0] + series[1] * x;
#pragma GCC unroll 16
        for (std::size_t m = 2; m < kNodes; ++m) {
          const Four next = twice * at - before;
          total += series[m] * next, before = at, at = next;
        }
        for (std::size_t lane = 0; lane < std::min<std::size_t>(4, end - k); ++lane) {
          out[targets_.order[k + lane]] = total[lane];
        }
      }
    }
  }

  const Panels &targets_, &sources_;
  const Wanted wanted_;
  Far far_;
};
void run_portable(Sums& sums) {
  sums.run();
}
PODIUM_AVX2 void run_avx2(Sums& sums) {
  sums.run();
}

// Pairs of the edges of one document after the other: Σ ± v v′ q q′, where q q′ is the second derivative at t − c times
// e^{τ − c}. The same polynomials, in moments of these edges alone.
class Shared {
 public:
  Shared(CdnEdges& edges, const Panels& at_t, const Panels& at_c)
      : edges_(edges), of_(edges, edges.shared.size()), t_(at_t), c_(at_c) {}

  PODIUM_INLINE void run() {
    InterruptPace pace;
    for (std::size_t i = 0; i < edges_.shared.size(); ++i) {
      pace.step(of_.begin[i + 1] - of_.begin[i]);
      t_.clear(), c_.clear();
      for (std::size_t a = of_.begin[i]; a < of_.begin[i + 1]; ++a) {
        const std::size_t e = of_.edge[a];
        const double weight = of_.sign[a] * edges_.lever[e];
        t_.add(e, weight), c_.add(e, weight * edges_.rise[e]);
      }
      edges_.shared[i] += total();
    }
  }

 private:
  // Moments of some edges, in the panels they are in.
  struct Few {
    const Panels& panels;
    std::vector<double> moments;
    std::vector<char> is_there;
    std::vector<std::uint32_t> there;

    explicit Few(const Panels& of) : panels(of), moments(of.size() * kNodes, 0.0), is_there(of.size(), 0) {}
    void clear() {
      for (const std::uint32_t p : there) is_there[p] = 0, std::fill_n(&moments[p * kNodes], kNodes, 0.0);
      there.clear();
    }
    PODIUM_INLINE void add(std::size_t e, double weight) {
      const std::uint32_t p = panels.number[e];
      if (!is_there[p]) is_there[p] = 1, there.push_back(p);
      Lanes sum = load(&moments[p * kNodes]);
      podium::add(sum, polynomials(panels.inside(e)), weight);
      store(&moments[p * kNodes], sum);
    }
  };

  PODIUM_INLINE double total() const {
    double out = 0;
    for (const std::uint32_t p : t_.there) {
      const Lanes own = load(&t_.moments[p * kNodes]);
      const double rising = dot(own, load(tables().rise.data())), falling = dot(own, load(tables().fall.data()));
      Lanes series{};
      for (const std::uint32_t s : c_.there) {
        const double apart = t_.panels.id[p] - c_.panels.id[s];
        const double* const moments = &c_.moments[s * kNodes];
        if (std::fabs(apart) <= kNear) {
          add_near(series, kBend, static_cast<int>(apart), moments);
        } else if (std::fabs(apart) < kSeen) {
          const double other = dot(load(moments), load((apart > 0 ? tables().rise : tables().fall).data()));
          out += (apart > 0 ? falling : rising) * other * tables().fade[static_cast<std::size_t>(std::fabs(apart))];
        }
      }
      out += dot(series, own);
    }
    return out;
  }

  CdnEdges& edges_;
  const CdnIncidence of_;
  Few t_, c_;
};
void run_portable(Shared& shared) {
  shared.run();
}
PODIUM_AVX2 void run_avx2(Shared& shared) {
  shared.run();
}

// The kernels at an edge's own t − c.
struct Self {
  double value, slope, rest, bend;  // rest: the slope seen from c, 1 − slope

  Self(double distance, double fade, bool cost) {
    const CdnTerm term(distance, fade);
    value = cost ? term.softplus(distance) : 0.0;
    slope = term.q, rest = term.rest, bend = term.q * term.rest;
  }

  // As the sums have them, errors and all, so that nothing of them stays behind.
  static Self interpolated(std::size_t e, const Panels& at_t, const Panels& at_c, Self exact) {
    const std::size_t p = at_t.number[e], s = at_c.number[e];
    const double apart = at_t.id[p] - at_c.id[s];
    if (std::fabs(apart) > kNear) {
      const double distance = at_t.place[e] - at_c.place[e], fade = std::exp(-std::fabs(distance));
      exact.value = std::max(distance, 0.0) + fade, exact.bend = fade;
      exact.slope = distance > 0 ? 1 - fade : fade, exact.rest = distance > 0 ? fade : 1 - fade;
      return exact;
    }
    const Lanes x = polynomials(at_t.inside(e)), y = polynomials(at_c.inside(e));
    const auto seen = [&](Kernel which, double from, const Lanes& target, const Lanes& source) {
      Series moments;
      store(moments.data(), source);
      Lanes series{};
      add_near(series, which, static_cast<int>(from), moments.data());
      return dot(series, target);
    };
    exact.value = seen(kValue, apart, x, y), exact.slope = seen(kSlope, apart, x, y);
    exact.rest = seen(kSlope, -apart, y, x), exact.bend = seen(kBend, apart, x, y);
    return exact;
  }
};

// Takes each edge's pair with itself out of its sums, in which it is so far, and makes those of second ones, which are
// sums of 1 − q and of q (1 − q), into sums of q′ = (1 − q) e^{τ − c} and of q′ (1 − q′).
void take_out_selves(CdnEdges& edges, CdnAsked asked, const Panels& at_t, const Panels& at_c,
                     const std::vector<double>& value) {
  const std::size_t n = edges.size();
  std::vector<double> fade(n);
  for (std::size_t e = 0; e < n; ++e) fade[e] = -std::fabs(edges.t[e] - edges.c[e]);
  exponentials(fade);
  const double total = std::accumulate(edges.weight.begin(), edges.weight.end(), 0.0);
  InterruptPace pace;
  for (std::size_t e = 0; e < n; ++e) {
    pace.step(16);
    const double v = edges.weight[e], rise = edges.rise[e];
    double &first = edges.first[e], &second = edges.second[e];
    Self self(edges.t[e] - edges.c[e], fade[e], asked.cost);
    // Where it is most of a sum, its error has to go with it: what is left may be smaller.
    bool counts = v * self.slope > 0.5 * first || v * self.rest > 0.5 * second;
    if (asked.curvature) {
      counts = counts || v * self.bend > 0.5 * std::min(edges.first_bend[e], edges.second_bend[e]);
    }
    if (counts) self = Self::interpolated(e, at_t, at_c, self);
    first = std::max(first - v * self.slope, 0.0);
    second = std::max(second - v * self.rest, 0.0);
    if (asked.curvature) {
      double &first_bend = edges.first_bend[e], &second_bend = edges.second_bend[e];
      first_bend = std::max(first_bend - v * self.bend, 0.0);
      second_bend = rise * (edges.fall[e] * second + rise * std::max(second_bend - v * self.bend, 0.0));
      edges.add_shared(e, e, -rise * self.bend);
    }
    second *= rise;
    if (asked.cost) edges.cost += v * (edges.c[e] * (total - v) + value[e] - v * self.value);
  }
}

}  // namespace

void cdn_chebyshev(CdnEdges& edges, CdnAsked asked) {
  const bool avx2 = has_avx2();
  Panels at_t(edges.t), at_c(edges.c);
  for (Panels* const panels : {&at_t, &at_c}) {
    (avx2 ? add_moments_avx2 : add_moments_portable)(*panels, edges.weight.data());
  }
  std::vector<double> value(asked.cost ? edges.size() : 0);
  Wanted first{asked.cost ? value.data() : nullptr, edges.first.data(), nullptr}, second{nullptr, edges.second.data()};
  if (asked.curvature) first.bend = edges.first_bend.data(), second.bend = edges.second_bend.data();
  Sums by_t(at_t, at_c, first), by_c(at_c, at_t, second);
  for (Sums* const sums : {&by_t, &by_c}) avx2 ? run_avx2(*sums) : run_portable(*sums);
  if (asked.curvature) {
    Shared shared(edges, at_t, at_c);
    avx2 ? run_avx2(shared) : run_portable(shared);
  }
  take_out_selves(edges, asked, at_t, at_c, value);
}

}  // namespace podium
