// Orders of short lists of scores without a branch that depends on them: a sort of random scores spends its time on
// mispredicted branches. Equal scores keep their order; scores must not be NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podium {

// Up to here counting is faster than sorting.
inline constexpr std::size_t longest_counted = 256;
// Up to here the top is found without ordering the rest.
inline constexpr std::size_t deepest_top = 32;

// Working memory of the orders, kept from list to list.
struct OrderScratch {
  std::vector<double> scores;
  std::vector<std::uint32_t> candidates;
};

// More numbers than these can be read after the scores, and written after the order, where functions ask for room.
inline constexpr std::size_t order_room = 64 + 8;

// order[r] = index of the score of rank r, by counting for each score how many come before it: O(n²), but four or
// eight at a time.
void order_by_counting(std::span<const double> scores, OrderScratch& scratch, std::vector<std::uint32_t>& order);

// The same for scores with room behind them, of which nothing is copied.
void order_by_counting(const double* scores, std::size_t n, std::uint32_t* order);

// order[r] for the first `depth` ≤ deepest_top ranks, or false if so many scores tie that sorting is better.
bool order_top(std::span<const double> scores, std::size_t depth, OrderScratch& scratch,
               std::vector<std::uint32_t>& order);

// The same for an order with room behind its `depth` numbers, which is written over.
bool order_top(std::span<const double> scores, std::size_t depth, OrderScratch& scratch, std::uint32_t* order);

}  // namespace podium
