#include "trees/binned.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

namespace podium {
namespace {

constexpr std::size_t kTile = Binner::kTile;
constexpr std::size_t kWidest = 128;  // columns of a block: their histograms stay in the second cache

std::vector<RowBlock> make_blocks(std::size_t codes, std::size_t rows, const std::string& folder) {
  std::vector<RowBlock> blocks;
  const std::size_t wanted = (codes + kWidest - 1) / kWidest;
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t first = codes * k / wanted, count = codes * (k + 1) / wanted - first;
    const std::size_t stride = row_stride(count);
    blocks.push_back({first, count, stride, ByteStore(rows * stride, folder)});
  }
  return blocks;
}

std::size_t tiles_of(const FeatureTable& table) {
  return (table.rows + kTile - 1) / kTile;
}

// Writes the codes of a tile into rows; the bins of its columns are in `columns`.
void encode(const Code& code, const BinColumns& columns, std::size_t row, std::size_t count, std::uint8_t* target,
            std::size_t stride) {
  const std::uint8_t* first = columns.column(code.parts[0].column) + row;
  if (!code.shared()) {
    for (std::size_t i = 0; i < count; ++i) target[i * stride] = first[i];
    return;
  }
  std::uint8_t codes[kTile] = {};
  for (const auto& [column, bins, step] : code.parts) {
    const std::uint8_t* of = columns.column(column) + row;
    for (std::size_t i = 0; i < count; ++i) {
      codes[i] = static_cast<std::uint8_t>(codes[i] + std::min<std::uint32_t>(of[i], bins) * step);
    }
  }
  for (std::size_t i = 0; i < count; ++i) target[i * stride] = codes[i];
}

}  // namespace

std::vector<Code> make_codes(const std::vector<std::uint16_t>& bins, bool share_bytes) {
  std::vector<std::uint32_t> rising(bins.size());
  std::iota(rising.begin(), rising.end(), 0u);
  std::stable_sort(rising.begin(), rising.end(), [&](std::uint32_t a, std::uint32_t b) { return bins[a] < bins[b]; });
  std::vector<Code> codes;
  std::size_t few = 0, many = rising.size();  // those with the fewest bins join those with the most
  while (few < many) {
    Code code{{{rising[--many], bins[rising[many]], 1}}};
    std::uint32_t size = code.parts[0].bins + 1u;
    while (share_bytes && few < many && size * (bins[rising[few]] + 1u) <= 256) {
      code.parts.push_back({rising[few], bins[rising[few]], size});
      size *= bins[rising[few++]] + 1u;
    }
    codes.push_back(std::move(code));
  }
  std::sort(codes.begin(), codes.end(),
            [](const Code& a, const Code& b) { return a.parts[0].column < b.parts[0].column; });
  return codes;
}

void bin_columns(const FeatureTable& table, const Binner& binner, const std::vector<std::uint32_t>& used,
                 std::size_t first, BinColumns& columns, int num_threads) {
  parallel_for(tiles_of(table), num_threads, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t row = tile * kTile, count = std::min(kTile, table.rows - row);
      for (std::size_t j = 0; j < used.size(); ++j)
        binner.bin(table, used[j], used[j], row, count, columns.column(j) + first + row);
    }
  });
}

Binned make_binned(std::size_t rows, const std::vector<FeatureBins>& features, bool share_bytes,
                   const std::string& folder) {
  Binned out;
  out.rows = rows;
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (features[f].bins() + (features[f].has_missing ? 1 : 0) < 2) continue;
    out.used.push_back(static_cast<std::uint32_t>(f));
    out.bins.push_back(static_cast<std::uint16_t>(features[f].bins()));
    out.categorical.push_back(features[f].categorical);
  }
  out.missing.resize(out.used.size());
  out.columns = BinColumns(rows, out.used.size(), folder);
  out.codes = make_codes(out.bins, share_bytes);
  out.blocks = make_blocks(out.codes.size(), rows, folder);
  return out;
}

void bin_rows(const FeatureTable& table, const Binner& binner, std::size_t first, Binned& out, int num_threads) {
  std::vector<std::atomic<std::uint8_t>> missing(out.used.size());
  parallel_for(tiles_of(table), num_threads, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t from = tile * kTile, count = std::min(kTile, table.rows - from), row = first + from;
      for (std::size_t j = 0; j < out.used.size(); ++j) {
        std::uint8_t* bins = out.columns.column(j) + row;
        binner.bin(table, out.used[j], out.used[j], from, count, bins);
        if (std::memchr(bins, kMissingBin, count)) missing[j].store(1, std::memory_order_relaxed);
      }
      for (RowBlock& block : out.blocks) {
        std::uint8_t* target = block.bins.data() + row * block.stride;
        for (std::size_t k = 0; k < block.count; ++k) {
          encode(out.codes[block.first + k], out.columns, row, count, target + k, block.stride);
        }
      }
    }
  });
  for (std::size_t j = 0; j < missing.size(); ++j) out.missing[j] |= missing[j].load();
}

}  // namespace podium
