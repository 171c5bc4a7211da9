// Sums over the documents that stand first in an order, while documents join one by one: a Fenwick tree.
#pragma once

#include <cstddef>
#include <vector>

namespace podium {

class OrderSums {
 public:
  struct Sums {
    double count = 0, sum = 0, square = 0;
  };

  void clear(std::size_t size) { nodes_.assign(size + 1, Sums{}); }
  // A document of this weight and value joins at a place of the order.
  void add(std::size_t place, double weight, double value) {
    for (std::size_t k = place + 1; k < nodes_.size(); k += k & (~k + 1)) {
      nodes_[k].count += weight, nodes_[k].sum += weight * value, nodes_[k].square += weight * value * value;
    }
  }
  // Sums over the places below `end`.
  Sums first(std::size_t end) const {
    Sums out;
    for (std::size_t k = end; k > 0; k -= k & (~k + 1)) {
      out.count += nodes_[k].count, out.sum += nodes_[k].sum, out.square += nodes_[k].square;
    }
    return out;
  }

 private:
  std::vector<Sums> nodes_;
};

}  // namespace podium
