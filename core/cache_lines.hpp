// Memory that begins on a cache line: registers as wide as a line are then read and written in one piece.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace podium {

inline constexpr std::size_t kCacheLine = 64;

// Large memory is asked for in huge pages.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* p = ::operator new(bytes, std::align_val_t{alignment(bytes)});
    if (bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) {
    ::operator delete(p, n * sizeof(T), std::align_val_t{alignment(n * sizeof(T))});
  }
  template <class Other>
  bool operator==(const LineAllocator<Other>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kHuge = 2u << 20;
  static constexpr std::size_t alignment(std::size_t bytes) { return bytes >= kHuge ? kHuge : kCacheLine; }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace podium
