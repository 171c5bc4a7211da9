#include <stdexcept>

#include "bind/bind.hpp"
#include "sharing/marks.hpp"

namespace podium::bind {
namespace {

using nb::literals::operator""_a;

// The marks, and the array in whose memory they are.
struct HeldMarks {
  MutableVector<std::uint8_t> memory;
  Marks marks;
};

void make_marks(HeldMarks* self, MutableVector<std::uint8_t> memory, std::size_t members) {
  if (memory.shape(0) < Marks::bytes(members)) throw std::invalid_argument("64 bytes per member and 64 more");
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % Marks::kLine != 0)
    throw std::invalid_argument("aligned memory");
  new (self) HeldMarks{memory, Marks(reinterpret_cast<std::byte*>(memory.data()), members)};
}

std::size_t checked(const HeldMarks& held, std::size_t member) {
  if (member >= held.marks.members()) throw std::invalid_argument("no such member");
  return member;
}

}  // namespace

void bind_sharing(nb::module_& m) {
  nb::class_<HeldMarks>(m, "Marks")
      .def("__init__", &make_marks, "memory"_a, "members"_a,
           "The marks of the members, in memory that all of them map: one line of 64 bytes per member, and one more.")
      .def(
          "at", [](const HeldMarks& held, std::size_t member) { return held.marks.at(checked(held, member)); },
          "member"_a, "The mark of a member.")
      .def(
          "set",
          [](HeldMarks& held, std::size_t member, std::uint64_t step) { held.marks.set(checked(held, member), step); },
          "member"_a, "step"_a, "Sets the mark of a member, and wakes those that wait.")
      .def(
          "wait",
          [](const HeldMarks& held, std::uint64_t step, double seconds) { return held.marks.wait(step, seconds); },
          "step"_a, "seconds"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Waits until every mark is at least `step`; returns whether that happened within some seconds.");
}

}  // namespace podium::bind
