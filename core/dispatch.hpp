// One build for every x86-64 machine: functions that gain from AVX2 have a second version, chosen when the program
// runs.
#pragma once

namespace podium {

#if defined(__x86_64__)
#define PODIUM_AVX2 __attribute__((target("avx2")))
inline bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2");
  return yes;
}
#else
#define PODIUM_AVX2
inline bool has_avx2() {
  return false;
}
#endif
#define PODIUM_INLINE inline __attribute__((always_inline))

}  // namespace podium
