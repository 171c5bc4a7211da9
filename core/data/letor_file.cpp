#include "data/letor_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "parallel.hpp"

namespace podium {
namespace {
constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::size_t kTail = std::size_t{64} << 10;
}  // namespace

LetorFile::LetorFile(int descriptor, std::uint64_t size, const LetorOptions& options, int num_threads,
                     std::size_t block_bytes)
    : descriptor_(descriptor),
      size_(size),
      options_(options),
      block_bytes_(block_bytes),
      block_count_((size + block_bytes - 1) / block_bytes),
      window_(2 * static_cast<std::size_t>(num_threads) + 2) {
  workers_ = start_threads(static_cast<std::size_t>(num_threads), loop_);
  if (workers_.empty()) throw std::bad_alloc();
}

LetorFile::~LetorFile() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (auto& worker : workers_) worker.join();
}

std::unique_ptr<LetorBlock> LetorFile::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  auto& slot = window_[next_out_ % window_.size()];
  if (!ready_.wait_for(lock, patience, [&] { return slot != nullptr; })) return nullptr;
  std::unique_ptr<LetorBlock> block = std::move(slot);
  ++next_out_;
  room_.notify_all();
  return block;
}

void LetorFile::work() {
  std::vector<char> buffer;
  for (;;) {
    std::uint64_t number;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || next_in_ == block_count_ || next_in_ < next_out_ + window_.size(); });
      if (stop_ || next_in_ == block_count_) return;
      number = next_in_++;
    }
    auto block = std::make_unique<LetorBlock>();
    try {
      read_block(number, buffer, *block);
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

// Appends `bytes` bytes of the file from `offset`; false where the file has become shorter.
bool LetorFile::extend(std::vector<char>& buffer, std::uint64_t offset, std::size_t bytes) const {
  std::size_t filled = buffer.size();
  buffer.resize(filled + bytes);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, buffer.data() + filled, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    filled += static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// A block owns the lines that begin inside its bytes: the text from behind the first line feed at or after the byte
// before it, to the end of the line that crosses its end.
void LetorFile::read_block(std::uint64_t number, std::vector<char>& buffer, LetorBlock& block) const {
  const std::uint64_t start = number * block_bytes_;
  const std::uint64_t stop = std::min<std::uint64_t>(start + block_bytes_, size_);
  const std::uint64_t from = start == 0 ? 0 : start - 1;
  buffer.clear();
  buffer.reserve(block_bytes_ + kTail + 1 + kLetorPadding);
  if (!extend(buffer, from, stop - from)) {
    block.fault = LetorFault::file_shrank;
    return;
  }
  const char* begin = buffer.data();
  if (start > 0) {
    begin = static_cast<const char*>(std::memchr(buffer.data(), '\n', buffer.size()));
    if (begin == nullptr || ++begin == buffer.data() + buffer.size()) return;
  } else if (buffer.size() >= 3 && std::memcmp(begin, "\xEF\xBB\xBF", 3) == 0) {
    begin += 3;
  }
  const std::size_t skipped = static_cast<std::size_t>(begin - buffer.data());
  std::uint64_t reach = stop;
  while (buffer.back() != '\n' && reach < size_) {
    const std::size_t more = std::min<std::uint64_t>(std::max(kTail, buffer.size() / 2), size_ - reach);
    const std::size_t scanned = buffer.size();
    if (!extend(buffer, reach, more)) {
      block.fault = LetorFault::file_shrank;
      return;
    }
    reach += more;
    const auto* feed = static_cast<const char*>(std::memchr(buffer.data() + scanned, '\n', more));
    if (feed != nullptr) buffer.resize(static_cast<std::size_t>(feed - buffer.data()) + 1);
    if (feed == nullptr && buffer.size() > kLongestLine + block_bytes_) {
      block.fault = LetorFault::line_too_long;
      return;
    }
  }
  block.ends_without_feed = buffer.back() != '\n';
  const std::size_t length = buffer.size();
  buffer.resize(length + kLetorPadding, '\n');
  parse_letor(buffer.data() + skipped, buffer.data() + length, options_, block);
}

}  // namespace podium
