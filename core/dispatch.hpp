// One build for every x86-64 machine: functions that AVX2 makes faster have a second version, which is chosen at run
// time, and a few have a third one for AVX-512. All versions give the same bits.
#pragma once

#include <atomic>

namespace podium {

// Tests turn these off to run the other versions on a machine that has the instructions.
inline std::atomic<bool> avx2_allowed{true}, avx512_allowed{true};

#if defined(__x86_64__)
#define PODIUM_AVX2 __attribute__((target("avx2")))
inline bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2");
  return yes && avx2_allowed.load(std::memory_order_relaxed);
}
#define PODIUM_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
inline bool has_avx512() {
  static const bool yes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return yes && has_avx2() && avx512_allowed.load(std::memory_order_relaxed);
}
#else
#define PODIUM_AVX2
inline bool has_avx2() {
  return false;
}
inline bool has_avx512() {
  return false;
}
#endif
#define PODIUM_INLINE inline __attribute__((always_inline))

}  // namespace podium
