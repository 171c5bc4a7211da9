#include "trees/binned.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace podium {
namespace {

constexpr std::size_t kTile = Binner::kTile;
constexpr std::size_t kWidest = 72;  // columns of a block: their histograms stay in the second cache

std::vector<RowBlock> make_blocks(std::size_t columns, std::size_t rows, std::size_t threads) {
  std::vector<RowBlock> blocks;
  if (columns == 0) return blocks;
  const std::size_t wanted = std::max((columns + kWidest - 1) / kWidest, std::min(threads, (columns + 7) / 8));
  const std::size_t width = (columns + wanted - 1) / wanted;
  for (std::size_t first = 0; first < columns; first += width) {
    RowBlock block{first, std::min(width, columns - first), 0, {}};
    block.stride = (block.count + 7) / 8 * 8;
    block.bins.resize(rows * block.stride);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

BinColumns bin_columns(const FeatureTable& table, const Binner& binner, const std::vector<std::uint32_t>& used,
                       Team& team) {
  BinColumns out(table.rows, used.size());
  team.loop(out.tiles(), 16, true, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t row = tile * kTile, count = std::min(kTile, table.rows - row);
      for (std::size_t j = 0; j < used.size(); ++j)
        binner.bin(table, used[j], used[j], row, count, out.column(j) + row);
    }
  });
  return out;
}

Binned bin_rows(const FeatureTable& table, const std::vector<FeatureBins>& features, Team& team, std::size_t threads) {
  Binned out;
  out.rows = table.rows;
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (features[f].bins() + (features[f].has_missing ? 1 : 0) < 2) continue;
    out.used.push_back(static_cast<std::uint32_t>(f));
    out.bins.push_back(static_cast<std::uint16_t>(features[f].bins()));
    out.categorical.push_back(features[f].categorical);
  }
  const Binner binner(features);
  out.columns = BinColumns(table.rows, out.used.size());
  out.blocks = make_blocks(out.used.size(), table.rows, threads);
  std::vector<std::atomic<std::uint8_t>> missing(out.used.size());
  team.loop(out.columns.tiles(), 16, true, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t row = tile * kTile, count = std::min(kTile, table.rows - row);
      for (RowBlock& block : out.blocks) {
        std::uint8_t* target = block.bins.data() + row * block.stride;
        for (std::size_t k = 0; k < block.count; ++k) {
          const std::size_t j = block.first + k;
          std::uint8_t* bins = out.columns.column(j) + row;
          binner.bin(table, out.used[j], out.used[j], row, count, bins);
          for (std::size_t i = 0; i < count; ++i) target[i * block.stride + k] = bins[i];
          if (std::memchr(bins, kMissingBin, count)) missing[j].store(1, std::memory_order_relaxed);
        }
      }
    }
  });
  for (const auto& any : missing) out.missing.push_back(any.load());
  return out;
}

}  // namespace podium
