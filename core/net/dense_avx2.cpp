// Built with AVX2 and FMA. It includes nothing that other files share code with, so that no instruction of these can
// reach a machine without them.
#if defined(__x86_64__)
#include "net/dense_kernels.hpp"

namespace podium {

const DenseKernels dense_avx2 = kKernels;

}  // namespace podium
#endif
