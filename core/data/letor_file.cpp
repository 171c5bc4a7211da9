#include "data/letor_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace podium {
namespace {
constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;  // stays in the fastest cache between reading and parsing
}  // namespace

LetorFile::LetorFile(int descriptor, std::uint64_t size, const LetorOptions& options, int num_threads,
                     std::size_t block_bytes)
    : descriptor_(descriptor),
      size_(size),
      options_(options),
      block_bytes_(block_bytes),
      block_count_((size + block_bytes - 1) / block_bytes),
      window_(2 * static_cast<std::size_t>(num_threads) + 2) {
  workers_.reserve(static_cast<std::size_t>(num_threads));
  try {
    for (int t = 0; t < num_threads; ++t) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // continue with fewer threads than asked for
  }
  if (workers_.empty()) throw std::bad_alloc();
}

LetorFile::~LetorFile() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  window_free_.notify_all();
  for (auto& worker : workers_) worker.join();
}

std::unique_ptr<LetorBlock> LetorFile::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  auto& slot = window_[next_out_ % window_.size()];
  if (!ready_.wait_for(lock, patience, [&] { return slot != nullptr; })) return nullptr;
  std::unique_ptr<LetorBlock> block = std::move(slot);
  ++next_out_;
  window_free_.notify_all();
  return block;
}

void LetorFile::work() {
  Window window;
  for (;;) {
    std::uint64_t number;
    {
      std::unique_lock lock(mutex_);
      window_free_.wait(lock,
                        [&] { return stop_ || next_in_ == block_count_ || next_in_ < next_out_ + window_.size(); });
      if (stop_ || next_in_ == block_count_) return;
      number = next_in_++;
    }
    auto block = std::make_unique<LetorBlock>();
    block->pool = pool_;
    try {
      read_block(number, window, *block);
    } catch (const std::bad_alloc&) {
      block->fault = LetorFault::out_of_memory;
    }
    {
      std::lock_guard lock(mutex_);
      window_[number % window_.size()] = std::move(block);
    }
    ready_.notify_all();
  }
}

// Appends the next piece of the file; returns false if the file has become shorter.
bool LetorFile::read_more(Window& window) const {
  const std::uint64_t from = window.offset + window.size;
  std::size_t bytes = std::min<std::uint64_t>(kPiece, size_ - from);
  window.bytes.resize(std::max(window.bytes.size(), window.size + bytes + kLetorPadding));
  while (bytes > 0) {
    const auto place = static_cast<off_t>(window.offset + window.size);
    const ssize_t got = pread(descriptor_, window.bytes.data() + window.size, bytes, place);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    window.size += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void LetorFile::read_block(std::uint64_t number, Window& window, LetorBlock& block) const {
  const std::uint64_t start = number * block_bytes_, stop = std::min<std::uint64_t>(start + block_bytes_, size_);
  LetorParser parser(options_, block, block_bytes_ + kPiece);
  const LetorFault fault = read_lines(start, stop, window, block, parser);
  if (fault != LetorFault::none) block.fault = fault;
  parser.finish();
}

// A block owns the lines that begin inside its bytes: the text after the first line feed at or after the byte before
// it, to the end of the line with its last byte.
LetorFault LetorFile::read_lines(std::uint64_t start, std::uint64_t stop, Window& window, LetorBlock& block,
                                 LetorParser& parser) const {
  window.offset = start == 0 ? 0 : start - 1;
  window.size = 0;
  bool inside = start == 0;
  const auto drop = [&](std::size_t count) {
    std::memmove(window.bytes.data(), window.bytes.data() + count, window.size - count);
    window.offset += count;
    window.size -= count;
  };
  for (;;) {
    const std::size_t scanned = window.size;
    const bool end_of_file = window.offset + window.size == size_;
    if (!end_of_file && !read_more(window)) return LetorFault::file_shrank;
    char* const text = window.bytes.data();
    if (start == 0 && window.offset == 0 && scanned == 0 && window.size >= 3 &&
        std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
      drop(3);
    }
    if (!inside) {
      const auto* feed = static_cast<const char*>(std::memchr(text, '\n', window.size));
      drop(feed == nullptr ? window.size : static_cast<std::size_t>(feed - text) + 1);
      inside = feed != nullptr;
      if (window.offset >= stop) return LetorFault::none;
      if (!inside) continue;
    }
    // The line with the last byte of the block ends at the first line feed from that byte on.
    const std::size_t last = stop - 1 > window.offset ? static_cast<std::size_t>(stop - 1 - window.offset) : 0;
    const void* feed = last < window.size ? std::memchr(text + last, '\n', window.size - last) : nullptr;
    const bool done = feed != nullptr || end_of_file;
    if (feed == nullptr) feed = memrchr(text, '\n', window.size);
    std::size_t whole = feed == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(feed) - text) + 1;
    if (end_of_file && whole < window.size) {
      block.ends_without_feed = true;
      whole = window.size;
      text[whole] = '\n';
    }
    if (!parser.parse(text, text + whole) || done) return LetorFault::none;
    drop(whole);
    if (window.size > kLongestLine) return LetorFault::line_too_long;
  }
}

}  // namespace podium
