// Bytes of the training documents: in memory, or in a file without a name that is mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cache_lines.hpp"

namespace podium {

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
