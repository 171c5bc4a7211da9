// Marks in memory that several processes of one machine share, by which they wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podium {

// One number per member, which only grows: the last step that the member has done. The memory begins as zeros, must be
// mapped by every member, and outlives this object. What a member wrote before its mark is seen by those who saw the
// mark.
class Marks {
 public:
  static constexpr std::size_t kLine = 64;  // bytes of a member, so that no two share a line of the cache

  static std::size_t bytes(std::size_t members) { return (members + 1) * kLine; }

  Marks(std::byte* memory, std::size_t members) : memory_(memory), members_(members) {}

  std::size_t members() const { return members_; }
  std::uint64_t at(std::size_t member) const;
  void set(std::size_t member, std::uint64_t step);
  // Waits until every mark is at least `step`, and returns whether that happened within some seconds. It looks a few
  // times and then sleeps, so that a member that works gets the processor.
  bool wait(std::uint64_t step, double seconds) const;

 private:
  bool reached(std::uint64_t step) const;
  std::uint32_t* bell() const;
  std::uint32_t* sleepers() const;

  std::byte* memory_;
  std::size_t members_;
};

}  // namespace podium
