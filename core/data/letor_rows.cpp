#include <algorithm>
#include <charconv>
#include <cmath>

#include "data/letor.hpp"

namespace podium {
namespace {

template <class T>
void append_number(std::string& out, T value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

}  // namespace

void fill_rows(const LetorBlock& block, std::size_t begin, std::size_t end, float* out, std::size_t features,
               std::uint32_t base, float absent) {
  if (block.dense) {
    const std::size_t skip = block.width == 0 ? 0 : block.first_index - base;
    const bool whole = skip == 0 && block.width == features;
    for (std::size_t row = begin; row < end; ++row, out += features) {
      if (!whole) std::fill(out, out + features, absent);
      std::copy_n(block.values.data() + row * block.width, block.width, out + skip);
    }
    return;
  }
  std::fill(out, out + (end - begin) * features, absent);
  for (std::size_t row = begin; row < end; ++row, out += features) {
    for (std::uint64_t k = block.row_starts[row]; k < block.row_starts[row + 1]; ++k) {
      out[block.indices[k] - base] = block.values.data()[k];
    }
  }
}

void format_letor_row(const LetorRows& rows, std::size_t row, std::string_view qid, std::string_view comment,
                      const LetorStyle& style, bool edges, std::string& out) {
  append_number(out, rows.labels[row]);
  if (!qid.empty()) out.append(" qid:").append(qid);
  const float* const values = rows.features + row * rows.n_features;
  for (std::size_t f = 0; f < rows.n_features; ++f) {
    const bool edge = edges && (f == 0 || f + 1 == rows.n_features);
    if (style.sparse && !edge && values[f] == 0 && !std::signbit(values[f])) continue;
    out.push_back(' ');
    append_number(out, style.base + f);
    out.push_back(':');
    if (std::isnan(values[f])) {
      out.append("nan");
    } else {
      append_number(out, values[f]);
    }
  }
  if (!comment.empty()) out.append(" #").append(comment);
  out.push_back('\n');
}

}  // namespace podium
