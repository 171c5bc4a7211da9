// LETOR / SVMlight text: `label qid:7 1:0.5 3:2 # comment`, a document a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/pages.hpp"

namespace podium {

struct LetorOptions {
  float absent = 0;                          // what a feature that a line leaves out is: 0 or NaN
  std::uint32_t max_index = (1u << 24) - 1;  // the largest feature index taken for real
  bool comments = true;                      // keep document ids from comments
};

// What is wrong with a line. The sentences are in podium/formats/letor.py, in this order.
enum class LetorFault : int {
  none,
  label,
  label_not_finite,
  qid_empty,
  qid_missing,
  qid_unexpected,
  index,
  index_negative,
  index_too_large,
  index_twice,
  colon,
  value,
  value_too_large,
  value_infinite,
  not_utf8,
  line_too_long,
  file_shrank,
  out_of_memory,
};

// Consecutive lines with one query id.
struct QueryRun {
  std::string id;
  std::int64_t rows = 0;
  std::int64_t line = 0;  // of the first row, counted from 0 inside the block
};

// What a run of lines held. Values are either dense (every row has `width` values, the first of index `first_index`)
// or sparse (row r has entries row_starts[r] to row_starts[r + 1]).
struct LetorBlock {
  std::vector<double> labels;
  std::vector<QueryRun> queries;  // empty where lines carry no qid
  bool has_qid = false;
  bool dense = true;
  std::uint32_t first_index = 1, width = 0;
  std::uint32_t min_index = UINT32_MAX, max_index = 0;  // over all entries; min > max where there are none
  Pages<float> values;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> row_starts;
  std::vector<std::int64_t> comment_ends;  // one a row, into `comments`; empty where no line has a comment
  std::string comments;
  std::int64_t lines = 0;
  std::int64_t first_row_line = 0, first_row_column = 0;  // where the first row has its qid or its first feature
  std::string first_row_found;
  bool ends_without_feed = false;  // the last line has no line end: the file may be cut short
  std::int64_t last_row_entries = -1, fewest_entries = -1, most_entries = -1;  // fewest and most: the last row left out
  LetorFault fault = LetorFault::none;
  std::int64_t fault_line = 0, fault_column = 0;  // counted from 0
  std::string found;

  std::shared_ptr<PagePool<float>> pool;  // where the values' memory comes from and goes to, or null

  LetorBlock() = default;
  LetorBlock(LetorBlock&&) = default;
  LetorBlock& operator=(LetorBlock&&) = default;
  ~LetorBlock() { release(); }

  std::size_t rows() const { return labels.size(); }
  // Lets go of the values.
  void release() {
    if (pool != nullptr && values.data() != nullptr) pool->give(std::move(values));
    values = Pages<float>();
  }
};

// Past the end of text that is parsed, so many characters must be readable; where the last line has no line feed, the
// first of them must be one.
inline constexpr std::size_t kLetorPadding = 32;

// Fills a block from text that comes in pieces of whole lines.
class LetorParser {
 public:
  // `bytes` is how much text is expected; more is taken all the same.
  LetorParser(const LetorOptions& options, LetorBlock& block, std::size_t bytes);
  ~LetorParser();
  // False where a line is wrong: the block says which and why, and no more can be parsed.
  bool parse(const char* begin, const char* end);
  void finish();

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

// All of it at once.
void parse_letor(const char* begin, const char* end, const LetorOptions& options, LetorBlock& block);

// Writes the block's rows from `begin` to `end` into a matrix of `features` columns, column 0 being feature index
// `base`.
void fill_rows(const LetorBlock& block, std::size_t begin, std::size_t end, float* out, std::size_t features,
               std::uint32_t base, float absent);

// Rows to be written as text.
struct LetorRows {
  const float* features;
  std::size_t n_features;
  const double* labels;
};
struct LetorStyle {
  std::uint32_t base;  // index of the first feature
  bool sparse;         // leave zeros out
};
// Appends a row as LETOR text. `edges` keeps the first and the last feature even where zeros are left out.
void format_letor_row(const LetorRows& rows, std::size_t row, std::string_view qid, std::string_view comment,
                      const LetorStyle& style, bool edges, std::string& out);

}  // namespace podium
