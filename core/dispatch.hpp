// One build for every x86-64 machine: functions that AVX2 makes faster have a second version, which is chosen at run
// time.
#pragma once

#include <atomic>

namespace podium {

// Tests turn this off to run the baseline versions on a machine that has AVX2.
inline std::atomic<bool> avx2_allowed{true};

#if defined(__x86_64__)
#define PODIUM_AVX2 __attribute__((target("avx2")))
inline bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2");
  return yes && avx2_allowed.load(std::memory_order_relaxed);
}
#else
#define PODIUM_AVX2
inline bool has_avx2() {
  return false;
}
#endif
#define PODIUM_INLINE inline __attribute__((always_inline))

}  // namespace podium
