#include "data/letor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/number.hpp"

namespace podium {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool ends_token(char c) {
  return is_space(c) || c == '\n' || c == '#';
}

const char* skip_spaces(const char* p) {
  while (is_space(*p)) ++p;
  return p;
}

// Returns true and moves p past `word` if that is the token at p, in upper or lower case.
bool take_word(const char*& p, std::string_view word) {
  const char* q = p;
  for (char c : word) {
    if ((*q | 0x20) != c) return false;
    ++q;
  }
  if (!ends_token(*q)) return false;
  p = q;
  return true;
}

// Returns the beginning of the token at p, for a message.
std::string token_at(const char* p) {
  const char* stop = p;
  while (stop - p < 40 && *stop != '\n' && !is_space(*stop)) ++stop;
  return {p, stop};
}

// Returns the length of the UTF-8 character at p, or 0 if the bytes there are not one.
int utf8_length(const unsigned char* p, const unsigned char* end) {
  if (*p < 0x80) return 1;
  const int length = *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : 2;
  if (*p < 0xC2 || *p > 0xF4 || end - p < length) return 0;
  const unsigned char second = p[1];
  if ((*p == 0xE0 && second < 0xA0) || (*p == 0xED && second > 0x9F) || (*p == 0xF0 && second < 0x90) ||
      (*p == 0xF4 && second > 0x8F)) {
    return 0;
  }
  for (int k = 1; k < length; ++k) {
    if ((p[k] & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    const int length = utf8_length(p, end);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

// Appends text as UTF-8. A byte that is not part of a UTF-8 character is taken as Latin-1, so that different bytes stay
// different.
void append_as_utf8(std::string& out, std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    const int length = utf8_length(p, end);
    if (length == 0) {
      out.push_back(static_cast<char>(0xC0 | (*p >> 6)));
      out.push_back(static_cast<char>(0x80 | (*p & 0x3F)));
      ++p;
    } else {
      out.append(reinterpret_cast<const char*>(p), static_cast<std::size_t>(length));
      p += length;
    }
  }
}

// Returns the document id in a comment: X of `docid = X …`, otherwise the whole comment without surrounding blanks.
std::string_view document_id(const char* begin, const char* end) {
  while (begin < end && is_space(*begin)) ++begin;
  while (end > begin && is_space(end[-1])) --end;
  const std::string_view key = "docid";
  if (static_cast<std::size_t>(end - begin) > key.size() && std::string_view(begin, key.size()) == key) {
    const char* p = begin + key.size();
    while (p < end && is_space(*p)) ++p;
    if (p < end && *p == '=') {
      ++p;
      while (p < end && is_space(*p)) ++p;
      const char* const id = p;
      while (p < end && !is_space(*p)) ++p;
      if (p > id) return {id, static_cast<std::size_t>(p - id)};
    }
  }
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

class LetorParser::Lines {
 public:
  Lines(const LetorOptions& options, LetorBlock& block, std::size_t bytes) : options_(options), block_(block) {
    reserve(bytes);
  }

  bool parse(const char* begin, const char* end) {
    reserve(static_cast<std::size_t>(end - begin));
    p_ = begin;
    end_ = end;
    while (p_ < end_) {
      line_begin_ = p_;
      if (!parse_line()) {
        block_.fault_line = block_.lines;
        block_.fault_column = fault_at_ - line_begin_;
        block_.found = token_at(fault_at_);
        return false;
      }
      ++block_.lines;
      p_ = static_cast<const char*>(std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_) + 1)) + 1;
    }
    return true;
  }

  void finish() {
    if (!regular_) {
      block_.row_starts.push_back(count_);
      densify();
    }
    if (block_.pool == nullptr) block_.values.shrink(block_.dense ? block_.rows() * block_.width : count_);
  }

 private:
  bool fail(LetorFault fault, const char* at) {
    block_.fault = fault;
    fault_at_ = at;
    return false;
  }

  bool parse_line() {
    p_ = skip_spaces(p_);
    if (*p_ == '\n' || *p_ == '#') return true;
    double label = 0;
    if (!options_.labels) {
      skip_label();
    } else if (!parse_label(label)) {
      return false;
    }
    p_ = skip_spaces(p_);
    const bool has_qid = p_[0] == 'q' && p_[1] == 'i' && p_[2] == 'd' && p_[3] == ':';
    if (block_.labels.empty()) {
      block_.has_qid = has_qid;
      block_.first_row_line = block_.lines;
      block_.first_row_column = p_ - line_begin_;
      block_.first_row_found = token_at(p_);
    } else if (has_qid != block_.has_qid) {
      return fail(has_qid ? LetorFault::qid_unexpected : LetorFault::qid_missing, p_);
    }
    if (has_qid && !parse_qid()) return false;
    const std::size_t first_entry = count_;
    if (!parse_entries(first_entry)) return false;
    close_row(label, first_entry);
    if (*p_ == '#') parse_comment();
    return true;
  }

  bool parse_label(double& label) {
    const char* const at = p_;
    const Parsed outcome = parse_number(p_, label);
    if (outcome == Parsed::number && ends_token(*p_)) return true;
    p_ = at;
    if (*p_ == '-' || *p_ == '+') ++p_;
    const bool known =
        take_word(p_, "nan") || take_word(p_, "inf") || take_word(p_, "infinity") || take_word(p_, "null");
    return fail(known || outcome == Parsed::too_large ? LetorFault::label_not_finite : LetorFault::label, at);
  }

  // Skips the first token of a line, unless it is a query id or a feature.
  void skip_label() {
    const char* q = p_;
    while (!ends_token(*q) && *q != ':') ++q;
    if (*q != ':') p_ = q;
  }

  bool parse_qid() {
    const char* const id = p_ + 4;
    p_ = id;
    while (!is_space(*p_) && *p_ != '\n') ++p_;
    const std::string_view text(id, static_cast<std::size_t>(p_ - id));
    if (text.empty()) return fail(LetorFault::qid_empty, id - 4);
    if (!block_.queries.empty() && block_.queries.back().id == text) {
      ++block_.queries.back().rows;
      return true;
    }
    if (!is_utf8(text)) return fail(LetorFault::not_utf8, id);
    block_.queries.push_back({std::string(text), 1, block_.lines});
    return true;
  }

  // Most rows repeat the indices of the row before, so " 12:" is compared as one word instead of being parsed.
  bool parse_expected_entries() {
    for (const Prefix& prefix : prefixes_) {
      if ((detail::load_word(p_) & prefix.mask) != prefix.text) return true;
      p_ += prefix.length;
      if (!parse_short_number(p_, values_[count_]) && !parse_value(values_[count_])) return false;
      ++count_;
    }
    return true;
  }

  bool parse_entries(std::size_t first_entry) {
    if (regular_ && !block_.labels.empty() && !parse_expected_entries()) return false;
    std::uint32_t expected = block_.first_index + static_cast<std::uint32_t>(count_ - first_entry);
    bool ascending = true;
    std::int64_t last = count_ > first_entry ? static_cast<std::int64_t>(expected) - 1 : -1;
    for (;;) {
      p_ = skip_spaces(p_);
      if (*p_ == '\n' || *p_ == '#') break;
      const char* const at = p_;
      std::uint64_t index = 0;
      while (is_digit(*p_))
        index = std::min<std::uint64_t>(index * 10 + static_cast<unsigned>(*p_++ - '0'), 1ull << 40);
      if (*p_ != ':' || p_ == at) return fail_index(at);
      if (index > options_.max_index) return fail(LetorFault::index_too_large, at);
      ++p_;
      float value;
      if (!parse_value(value)) return false;
      const auto raw = static_cast<std::uint32_t>(index);
      if (regular_) {
        if (block_.labels.empty() && count_ == 0) block_.first_index = expected = raw;
        if (raw != expected) make_irregular(first_entry);
        ++expected;
      }
      if (!regular_) block_.indices.push_back(raw);
      ascending &= static_cast<std::int64_t>(raw) > last;
      last = raw;
      block_.min_index = std::min(block_.min_index, raw);
      block_.max_index = std::max(block_.max_index, raw);
      values_[count_++] = value;
    }
    return ascending || check_repeats(first_entry);
  }

  bool fail_index(const char* at) {
    if (*at == '-' && is_digit(at[1])) return fail(LetorFault::index_negative, at);
    if (at[0] == 'q' && at[1] == 'i' && at[2] == 'd' && at[3] == ':') return fail(LetorFault::qid_unexpected, at);
    return fail(p_ > at && ends_token(*p_) ? LetorFault::colon : LetorFault::index, at);
  }

  bool parse_value(float& value) {
    const char* const at = p_;
    const Parsed outcome = parse_number(p_, value);
    if (outcome == Parsed::number && ends_token(*p_)) return true;
    if (outcome == Parsed::too_large) return fail(LetorFault::value_too_large, at);
    p_ = at;
    if (*p_ == '-' || *p_ == '+') ++p_;
    if (take_word(p_, "nan") || take_word(p_, "null")) {
      value = std::numeric_limits<float>::quiet_NaN();
      return true;
    }
    const bool infinite = take_word(p_, "inf") || take_word(p_, "infinity");
    return fail(infinite ? LetorFault::value_infinite : LetorFault::value, at);
  }

  // Indices may be in any order, but the same one twice is a fault, because it is unclear which value counts.
  bool check_repeats(std::size_t first_entry) {
    std::vector<std::uint32_t> sorted(block_.indices.begin() + static_cast<std::ptrdiff_t>(first_entry),
                                      block_.indices.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return true;
    // Finds the second place again for the message; no line is parsed after this one.
    const char* p = line_begin_;
    for (int seen = 0; *p != '\n';) {
      p = skip_spaces(p);
      std::uint64_t index = 0;
      const char* q = p;
      while (is_digit(*q)) index = index * 10 + static_cast<unsigned>(*q++ - '0');
      if (*q == ':' && index == *twice && ++seen == 2) break;
      while (!is_space(*p) && *p != '\n') ++p;
    }
    return fail(LetorFault::index_twice, p);
  }

  // Until a row breaks the pattern, every row has indices first_index, first_index + 1, …, which are not stored.
  void make_irregular(std::size_t first_entry) {
    regular_ = false;
    block_.row_starts.reserve(block_.labels.size() + 1);
    block_.indices.reserve(capacity_ / 2);
    for (std::size_t row = 0; row < block_.labels.size(); ++row) {
      block_.row_starts.push_back(row * block_.width);
      for (std::uint32_t k = 0; k < block_.width; ++k) block_.indices.push_back(block_.first_index + k);
    }
    for (std::size_t k = first_entry; k < count_; ++k) {
      block_.indices.push_back(block_.first_index + static_cast<std::uint32_t>(k - first_entry));
    }
  }

  void expect_row(std::uint32_t width) {
    block_.width = width;
    for (std::uint32_t k = 0; k < width; ++k) {
      std::string text = std::to_string(block_.first_index + k);
      text.insert(text.begin(), ' ');
      text.push_back(':');
      Prefix prefix{0, 0, static_cast<int>(text.size())};
      if (text.size() > sizeof prefix.text) break;
      std::memcpy(&prefix.text, text.data(), text.size());
      std::memset(&prefix.mask, 0xFF, text.size());
      prefixes_.push_back(prefix);
    }
  }

  void close_row(double label, std::size_t first_entry) {
    const auto entries = static_cast<std::int64_t>(count_ - first_entry);
    if (regular_ && block_.labels.empty()) expect_row(static_cast<std::uint32_t>(entries));
    if (regular_ && entries != block_.width) make_irregular(first_entry);
    if (!regular_) block_.row_starts.push_back(first_entry);
    block_.labels.push_back(label);
    if (block_.last_row_entries >= 0) {
      const bool first = block_.fewest_entries < 0;
      block_.fewest_entries =
          first ? block_.last_row_entries : std::min(block_.fewest_entries, block_.last_row_entries);
      block_.most_entries = std::max(block_.most_entries, block_.last_row_entries);
    }
    block_.last_row_entries = entries;
    if (!block_.comment_ends.empty()) block_.comment_ends.push_back(static_cast<std::int64_t>(block_.comments.size()));
  }

  void parse_comment() {
    const char* const begin = p_ + 1;
    p_ = static_cast<const char*>(std::memchr(begin, '\n', static_cast<std::size_t>(end_ - begin) + 1));
    if (!options_.comments) return;
    const std::string_view id = document_id(begin, p_);
    if (id.empty()) return;
    if (block_.comment_ends.empty()) block_.comment_ends.assign(block_.labels.size(), 0);
    if (is_utf8(id)) {
      block_.comments.append(id);
    } else {
      append_as_utf8(block_.comments, id);
    }
    block_.comment_ends.back() = static_cast<std::int64_t>(block_.comments.size());
  }

  // An entry takes at least four characters (" 1:0"), so a quarter of the size of the text is enough for all values.
  void reserve(std::size_t bytes) {
    const std::size_t needed = count_ + bytes / 4 + 1;
    if (needed <= capacity_) return;
    Pages<float> larger = block_.pool ? block_.pool->take(needed) : Pages<float>(needed);
    std::copy_n(block_.values.data(), count_, larger.data());
    block_.release();
    block_.values = std::move(larger);
    values_ = block_.values.data();
    capacity_ = needed;
  }

  // Rows that are at least a quarter full take less memory as a matrix.
  void densify() {
    const std::size_t width = block_.max_index - std::min(block_.min_index, block_.max_index) + 1;
    block_.dense = count_ > 0 && block_.rows() * width <= 4 * count_;
    if (!block_.dense) return;
    Pages<float> matrix(block_.rows() * width);
    fill_rows_sparse(matrix.data(), width);
    block_.release();
    block_.values = std::move(matrix);
    block_.first_index = block_.min_index;
    block_.width = static_cast<std::uint32_t>(width);
    block_.indices = {};
    block_.row_starts = {};
  }

  void fill_rows_sparse(float* out, std::size_t width) {
    block_.dense = false;
    fill_rows(block_, 0, block_.rows(), out, width, block_.min_index, options_.absent);
    block_.dense = true;
  }

  struct Prefix {
    std::uint64_t text, mask;
    int length;
  };

  const char* p_ = nullptr;
  const char* end_ = nullptr;
  const LetorOptions& options_;
  LetorBlock& block_;
  const char* line_begin_ = nullptr;
  const char* fault_at_ = nullptr;
  float* values_ = nullptr;
  std::size_t capacity_ = 0, count_ = 0;
  bool regular_ = true;
  std::vector<Prefix> prefixes_;
};

LetorParser::LetorParser(const LetorOptions& options, LetorBlock& block, std::size_t bytes)
    : lines_(std::make_unique<Lines>(options, block, bytes)) {}
LetorParser::~LetorParser() = default;
bool LetorParser::parse(const char* begin, const char* end) {
  return lines_->parse(begin, end);
}
void LetorParser::finish() {
  lines_->finish();
}

void parse_letor(const char* begin, const char* end, const LetorOptions& options, LetorBlock& block) {
  LetorParser parser(options, block, static_cast<std::size_t>(end - begin));
  parser.parse(begin, end);
  parser.finish();
}

}  // namespace podium
