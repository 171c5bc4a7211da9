// Coverage-guided fuzzing of the LETOR parser: whatever the bytes, no crash, and the block's parts fit together.
// Every input is also parsed in two halves, as the file reader does: both ways must agree.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "data/letor.hpp"

namespace {

using podium::LetorBlock;

#define REQUIRE(condition) \
  if (!(condition)) std::abort()

LetorBlock parse(const char* text, std::size_t size, const podium::LetorOptions& options) {
  std::vector<char> copy(text, text + size);  // on the heap at its own size, so that a read past the padding is seen
  copy.resize(size + podium::kLetorPadding, '\n');
  LetorBlock block;
  podium::parse_letor(copy.data(), copy.data() + size, options, block);
  return block;
}

std::vector<float> matrix(const LetorBlock& block, std::size_t width) {
  std::vector<float> out(block.rows() * width, -1);
  podium::fill_rows(block, 0, block.rows(), out.data(), width, 0, 0);
  return out;
}

void check(const LetorBlock& block) {
  std::int64_t rows = 0;
  for (const auto& run : block.queries) rows += run.rows;
  const bool faulty = block.fault != podium::LetorFault::none;
  if (block.has_qid && !faulty) REQUIRE(rows == static_cast<std::int64_t>(block.rows()));
  if (!block.comment_ends.empty()) {
    REQUIRE(block.comment_ends.size() == block.rows());
    REQUIRE(block.comment_ends.back() <= static_cast<std::int64_t>(block.comments.size()));
  }
  for (double label : block.labels) REQUIRE(std::isfinite(label));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char* text = reinterpret_cast<const char*>(data);
  podium::LetorOptions options;
  options.max_index = 4095;
  const LetorBlock whole = parse(text, size, options);
  check(whole);
  if (whole.fault != podium::LetorFault::none || size == 0) return 0;
  const std::size_t width = whole.min_index <= whole.max_index ? whole.max_index + 1 : 0;
  const std::vector<float> expected = matrix(whole, width);
  for (float value : expected) REQUIRE(!std::isinf(value));

  const void* feed = std::memchr(text + size / 2, '\n', size - size / 2);
  if (feed == nullptr) return 0;
  const std::size_t cut = static_cast<std::size_t>(static_cast<const char*>(feed) - text) + 1;
  const LetorBlock head = parse(text, cut, options), tail = parse(text + cut, size - cut, options);
  REQUIRE(head.rows() + tail.rows() == whole.rows() && head.lines + tail.lines == whole.lines);
  std::vector<float> joined = matrix(head, width);
  const std::vector<float> rest = matrix(tail, width);
  joined.insert(joined.end(), rest.begin(), rest.end());
  REQUIRE(joined.size() == expected.size());
  REQUIRE(joined.empty() || std::memcmp(joined.data(), expected.data(), joined.size() * sizeof(float)) == 0);
  return 0;
}
