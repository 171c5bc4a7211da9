// A trained forest, compiled for the ways in which it is asked: many documents, few documents, trees of many leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoring/arrays.hpp"
#include "scoring/blend.hpp"
#include "scoring/walk.hpp"

namespace podium {

// How the values of a document's leaves are added: in doubles, or with every sum rounded to a float, as XGBoost and
// RankLib do.
enum class Sums { kDouble, kFloat };

// Every way gives the same bits: the score of a document is the sum of a starting value and its leaves' values in the
// order of the trees.
class Forest {
 public:
  // Throws std::invalid_argument if the arrays are not a forest over `n_features` features. `start` has one number per
  // output: where its sums begin.
  Forest(const ForestArrays& arrays, std::size_t n_features, std::span<const double> start, Sums sums);
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  std::size_t trees() const { return first_leaf_.size(); }
  std::size_t features() const { return n_features_; }
  std::size_t outputs() const { return start_.size(); }

  // out[document · outputs + t mod outputs] = the start of that output and the values of the trees t, added in their
  // order.
  template <class T>
  void scores(const ScoreTable<T>& table, std::span<double> out, int num_threads) const;
  // The leaf of every document in every tree, [documents × trees].
  template <class T>
  void leaves(const ScoreTable<T>& table, std::span<std::int32_t> out, int num_threads) const;

 private:
  // Trees that follow one another and are evaluated in one way.
  struct Part {
    std::size_t first, last;
    const BlendTrees* blend;  // null if documents walk
  };
  class Block;

  void compile(const ForestArrays& arrays);
  template <class T>
  void score_few(const ScoreTable<T>& table, std::span<double> out) const;
  template <class T, class Take>
  void for_each_block(const ScoreTable<T>& table, int num_threads, Take&& take) const;

  std::size_t n_features_;
  std::vector<double> start_;
  Sums sums_;
  CategoryTable categories_;
  std::vector<std::size_t> first_leaf_;
  std::vector<double> value_;
  WalkTrees walk_;
  std::vector<BlendTrees> blends_;
  std::vector<Part> parts_;
  std::size_t columns_ = 0;  // most columns of a blended part
  std::size_t few_ = 1;      // documents up to which walking is faster
  bool walks_ = false;       // whether documents of a block walk through some of the trees
};

}  // namespace podium
