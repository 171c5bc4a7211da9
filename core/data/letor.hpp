// LETOR / SVMlight text: `label qid:7 1:0.5 3:2 # comment`, one document per line.
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
  float absent = 0;                          // value of a feature that a line leaves out: 0 or NaN
  std::uint32_t max_index = (1u << 24) - 1;  // a larger feature index is a fault
  bool comments = true;                      // whether to keep the document ids in comments
  bool labels = true;                        // if false, a label is skipped if there is one, and counts as 0
};

// What is wrong with a line. The messages are in podium/formats/letor_rows.py, in this order.
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

// The content of consecutive lines. Values are either dense (every row has `width` values, the first of index
// `first_index`) or sparse (row r has entries row_starts[r] to row_starts[r + 1]).
struct LetorBlock {
  std::vector<double> labels;
  std::vector<QueryRun> queries;  // empty if lines have no qid
  bool has_qid = false;
  bool dense = true;
  std::uint32_t first_index = 1, width = 0;
  std::uint32_t min_index = UINT32_MAX, max_index = 0;  // over all entries; min > max if there are none
  Pages<float> values;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> row_starts;
  std::vector<std::int64_t> comment_ends;  // one per row, into `comments`; empty if no line has a comment
  std::string comments;
  std::int64_t lines = 0;
  std::int64_t first_row_line = 0, first_row_column = 0;  // of the qid or first feature of the first row
  std::string first_row_found;
  bool ends_without_feed = false;  // the last line has no line end: the file may be cut short
  std::int64_t last_row_entries = -1, fewest_entries = -1,
               most_entries = -1;  // fewest and most: of all rows but the last
  LetorFault fault = LetorFault::none;
  std::int64_t fault_line = 0, fault_column = 0;  // counted from 0
  std::string found;

  std::shared_ptr<PagePool<float>> pool;  // of the memory of the values, or null

  LetorBlock() = default;
  LetorBlock(LetorBlock&&) = default;
  LetorBlock& operator=(LetorBlock&&) = default;
  ~LetorBlock() { release(); }

  std::size_t rows() const { return labels.size(); }
  // Releases the values.
  void release() {
    if (pool != nullptr && values.data() != nullptr) pool->give(std::move(values));
    values = Pages<float>();
  }
};

// The number of characters that must be readable past the end of the parsed text; if the last line has no line feed,
// the first of them must be one.
inline constexpr std::size_t kLetorPadding = 32;

// Fills a block from text that comes in pieces of whole lines.
class LetorParser {
 public:
  // `bytes` is how much text is expected; more is possible.
  LetorParser(const LetorOptions& options, LetorBlock& block, std::size_t bytes);
  ~LetorParser();
  // Returns false if a line is wrong: the block says which and why, and no more can be parsed.
  bool parse(const char* begin, const char* end);
  void finish();

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

// Parses a whole text.
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
// Appends a row as LETOR text. `edges` writes the first and the last feature even if they are zeros to be left out.
void format_letor_row(const LetorRows& rows, std::size_t row, std::string_view qid, std::string_view comment,
                      const LetorStyle& style, bool edges, std::string& out);

}  // namespace podium
