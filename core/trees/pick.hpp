// Copies of rows with only some of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podium {

// Picks the bytes at `places` of rows of `stride` bytes, which is what a sample of columns needs.
class BytePicker {
 public:
  BytePicker(std::span<const std::uint32_t> places, std::size_t stride);

  // Writes the bytes of the rows documents[begin], …, documents[end − 1] (null: the numbers themselves) to the rows
  // begin, …, end − 1 of `to`, which are `to_stride` bytes apart; bytes there that are not picked may be changed.
  void copy(const std::uint8_t* from, const std::uint32_t* documents, std::size_t begin, std::size_t end,
            std::uint8_t* to, std::size_t to_stride) const;

 private:
  void copy_shuffled(const std::uint8_t* from, const std::uint32_t* documents, std::size_t begin, std::size_t end,
                     std::uint8_t* to, std::size_t to_stride) const;

  std::vector<std::uint32_t> places_;
  std::size_t stride_;
  std::vector<std::size_t> chunks_;    // where the 16 bytes of each chunk of a row begin
  std::vector<std::uint8_t> shuffle_;  // for 32 bytes and a chunk: their places in it, or 128
};

}  // namespace podium
