// Counter-based random numbers: pure functions of a counter, so that threads, order and resuming do not change them.
#pragma once

#include <cstdint>

namespace podium {

// Mixes the bits of a counter. [Steele, Lea and Flood 2014, the finalizer of SplitMix64]
inline std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// What the random numbers of a query have in common: splitmix64(stream ^ item) is that of an item.
inline std::uint64_t random_stream(std::uint64_t seed, std::uint64_t round, std::uint64_t query) {
  return splitmix64(splitmix64(splitmix64(seed) ^ round) ^ query);
}

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t round, std::uint64_t query, std::uint64_t item) {
  return splitmix64(random_stream(seed, round, query) ^ item);
}

// Returns a number uniform in [0, 1).
inline double random_unit(std::uint64_t seed, std::uint64_t round, std::uint64_t query, std::uint64_t item) {
  return static_cast<double>(random_bits(seed, round, query, item) >> 11) * 0x1.0p-53;
}

}  // namespace podium
