#include "dispatch.hpp"
#include "exponentials.hpp"
#include "net/dense_kernels.hpp"

namespace podium {

const DenseKernels dense_portable = kKernels;

const DenseKernels& dense_kernels() {
#if defined(__x86_64__)
  static const bool fused = __builtin_cpu_supports("fma");
  if (fused && has_avx512()) return dense_avx512;
  if (fused && has_avx2()) return dense_avx2;
#endif
  return dense_portable;
}

void exponentials(std::span<double> values) {
  dense_kernels().exponentials(values.size(), values.data());
}

}  // namespace podium
