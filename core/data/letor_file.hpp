// A LETOR file as a stream of parsed blocks: several threads read and parse ahead, blocks come out in file order.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/letor.hpp"

namespace podium {

class LetorFile {
 public:
  // Reads the first `size` bytes of an open file; the descriptor stays the caller's and must outlive this.
  LetorFile(int descriptor, std::uint64_t size, const LetorOptions& options, int num_threads, std::size_t block_bytes);
  ~LetorFile();
  LetorFile(const LetorFile&) = delete;
  LetorFile& operator=(const LetorFile&) = delete;

  bool finished() const { return next_out_ == block_count_; }
  // The next block in file order, or nothing if it is not ready within the time given.
  std::unique_ptr<LetorBlock> next(std::chrono::milliseconds patience);
  std::uint64_t bytes_done() const { return std::min<std::uint64_t>(next_out_ * block_bytes_, size_); }

 private:
  void work();
  void read_block(std::uint64_t number, std::vector<char>& buffer, LetorBlock& block) const;
  bool extend(std::vector<char>& buffer, std::uint64_t offset, std::size_t bytes) const;

  const int descriptor_;
  const std::uint64_t size_;
  const LetorOptions options_;
  const std::size_t block_bytes_;
  const std::uint64_t block_count_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::vector<std::unique_ptr<LetorBlock>> window_;  // slot b % size holds block b between parsing and handing out
  std::uint64_t next_in_ = 0, next_out_ = 0;
  bool stop_ = false;
  const std::function<void()> loop_ = [this] { work(); };
  std::vector<std::thread> workers_;
};

}  // namespace podium
