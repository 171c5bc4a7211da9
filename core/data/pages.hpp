// Memory that is requested from the system and returned to it directly, so that a large file leaves nothing in the
// heap.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace podium {

template <class T>
class Pages {
 public:
  Pages() = default;
  // Reserves memory for `count` values; untouched pages cost nothing.
  explicit Pages(std::size_t count) : bytes_(count * sizeof(T)) {
    if (bytes_ == 0) return;
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  // Returns the pages past the first `count` values to the system.
  void shrink(std::size_t count) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)),
                      keep = (count * sizeof(T) + page - 1) / page * page;
    if (data_ == nullptr || keep >= bytes_) return;
    if (keep == 0) {
      *this = Pages();
      return;
    }
    munmap(reinterpret_cast<char*>(data_) + keep, bytes_ - keep);
    bytes_ = keep;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t capacity() const { return bytes_ / sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Memory that is reused instead of returned: the system clears every page that it provides, which takes longer than
// parsing into it.
template <class T>
class PagePool {
 public:
  // Returns memory for at least `count` values.
  Pages<T> take(std::size_t count) {
    {
      std::lock_guard lock(mutex_);
      for (auto& pages : free_) {
        if (pages.capacity() >= count) {
          Pages<T> out = std::move(pages);
          pages = std::move(free_.back());
          free_.pop_back();
          return out;
        }
      }
    }
    return Pages<T>(count);
  }
  void give(Pages<T>&& pages) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(pages));
  }

 private:
  std::mutex mutex_;
  std::vector<Pages<T>> free_;
};

}  // namespace podium
