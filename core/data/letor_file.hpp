// A LETOR file as a stream of parsed blocks: several threads read and parse ahead; blocks are returned in file order.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/letor.hpp"

namespace podium {

class LetorFile {
 public:
  // Reads the first `size` bytes of an open file. The caller owns the descriptor and keeps it open meanwhile.
  LetorFile(int descriptor, std::uint64_t size, const LetorOptions& options, int num_threads, std::size_t block_bytes);
  ~LetorFile();
  LetorFile(const LetorFile&) = delete;
  LetorFile& operator=(const LetorFile&) = delete;

  bool finished() const { return next_out_ == block_count_; }
  // Returns the next block in file order, or nothing if it is not ready within the given time.
  std::unique_ptr<LetorBlock> next(std::chrono::milliseconds patience);
  std::uint64_t bytes_done() const { return std::min<std::uint64_t>(next_out_ * block_bytes_, size_); }

 private:
  void work();
  // The text of the file from `offset` on, as far as it has been read.
  struct Window {
    std::vector<char> bytes;  // larger than `size` by the padding that the parser needs
    std::size_t size = 0;
    std::uint64_t offset = 0;
  };
  void read_block(std::uint64_t number, Window& window, LetorBlock& block) const;
  LetorFault read_lines(std::uint64_t start, std::uint64_t stop, Window& window, LetorBlock& block,
                        LetorParser& parser) const;
  bool read_more(Window& window) const;

  const int descriptor_;
  const std::uint64_t size_;
  const LetorOptions options_;
  const std::size_t block_bytes_;
  const std::uint64_t block_count_;
  std::mutex mutex_;
  std::condition_variable ready_, window_free_;
  std::vector<std::unique_ptr<LetorBlock>> window_;  // slot b % size holds block b from parsing until it is returned
  std::uint64_t next_in_ = 0, next_out_ = 0;
  bool stop_ = false;
  const std::shared_ptr<PagePool<float>> pool_ = std::make_shared<PagePool<float>>();
  std::vector<std::thread> workers_;
};

}  // namespace podium
