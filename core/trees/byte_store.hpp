// Bytes of the training documents: in memory, or in a file without a name that is mapped into memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace podium {

inline constexpr std::size_t kCacheLine = 64;

// Bytes that begin on a cache line.
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

// Zeros to write into. If a folder is named, they are pages of a file in it, which the system writes to disk and drops
// when memory is short; the file has no name and is gone when the store is.
class ByteStore {
 public:
  ByteStore() = default;
  ByteStore(std::size_t size, const std::string& folder);
  ByteStore(ByteStore&& other) noexcept { swap(other); }
  ByteStore& operator=(ByteStore&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ByteStore();

  std::size_t size() const { return size_; }
  std::uint8_t* data() { return mapped_ ? mapped_ : memory_.data(); }
  const std::uint8_t* data() const { return mapped_ ? mapped_ : memory_.data(); }

 private:
  void swap(ByteStore& other) noexcept {
    std::swap(memory_, other.memory_), std::swap(mapped_, other.mapped_), std::swap(size_, other.size_);
  }
  std::vector<std::uint8_t, LineAllocator<std::uint8_t>> memory_;
  std::uint8_t* mapped_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace podium
