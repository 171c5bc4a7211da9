// Files mapped into memory. If one becomes shorter while it is in use, the system sends SIGBUS to whoever reads past
// its new end, which would kill the process. Here the missing pages are replaced by zeros, so that the reader gets to
// its end, and Python's handler for SIGBUS is asked to run, which raises an exception.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/bind.hpp"

namespace podium::bind {
namespace {

struct Mapping {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // 0: the place is free
  std::atomic<bool> lost{false};
};

// The signal handler may neither allocate nor wait, so there are so many places and no more.
std::array<Mapping, 4096> mappings;
struct sigaction handler_before;
std::uintptr_t page_size = 4096;

void on_bus_error(int number, siginfo_t* info, void*) {
  const int error_before = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Mapping& mapping : mappings) {
    const std::uintptr_t begin = mapping.begin, end = mapping.end;
    if (info->si_code <= 0 || begin == 0 || address < begin || address >= end) continue;
    const std::uintptr_t page = address / page_size * page_size;
    void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    if (!mapping.lost.exchange(true)) PyErr_SetInterruptEx(SIGBUS);
    errno = error_before;
    return;
  }
  sigaction(SIGBUS, &handler_before, nullptr);  // not one of our mappings: restore the earlier handler
  if (info->si_code <= 0) raise(number);        // sent by a program; otherwise the instruction is executed again
  errno = error_before;
}

void handle_bus_errors(bool keep_before) {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  sigaction(SIGBUS, &action, keep_before ? &handler_before : nullptr);
}

std::int64_t watch_mapping(std::uintptr_t begin, std::size_t size) {
  for (std::size_t place = 0; place < mappings.size(); ++place) {
    if (mappings[place].begin != 0) continue;
    mappings[place].lost = false;
    mappings[place].end = begin + size;
    mappings[place].begin = begin;
    return static_cast<std::int64_t>(place);
  }
  return -1;
}

struct FilePart {
  int descriptor;
  std::int64_t offset;
  std::size_t size;
};

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "mapping files");
}

// Copies a piece of a file that does not fill a page of the mapping; its neighbor may have the rest of the page.
void copy_edge(const FilePart& part, std::size_t skipped, std::uint8_t* to, std::size_t count,
               std::uintptr_t& open_page) {
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(to) / page_size * page_size;
  void* const pages = reinterpret_cast<void*>(page);
  if (page != open_page &&
      mmap(pages, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    fail();
  }
  open_page = page;
  for (std::size_t done = 0; done < count;) {
    const ssize_t got = pread(part.descriptor, to + done, count - done,
                              static_cast<off_t>(part.offset + static_cast<std::int64_t>(skipped + done)));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;
    if (got <= 0) fail();
    done += static_cast<std::size_t>(got);
  }
}

// Maps pieces of files one after the other, without a gap. Pages that two pieces share are copies.
auto map_parts(const std::vector<std::tuple<int, std::int64_t, std::size_t>>& given) {
  page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  std::size_t total = 0;
  for (const auto& [descriptor, offset, size] : given) {
    if (offset < 0 || static_cast<std::size_t>(offset) % page_size != total % page_size) {
      throw std::invalid_argument("a piece does not lie in its page as the end of the one before does");
    }
    total += size;
  }
  const std::size_t reserved = std::max<std::size_t>(total, 1);
  void* const region = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) fail();
  auto* const owner = new std::pair<void*, std::size_t>(region, reserved);
  nb::capsule free(owner, [](void* held) noexcept {
    auto* const mapped = static_cast<std::pair<void*, std::size_t>*>(held);
    munmap(mapped->first, mapped->second);
    delete mapped;
  });
  auto* const base = static_cast<std::uint8_t*>(region);
  std::uintptr_t open_page = 0;
  std::size_t at = 0;
  for (const auto& [descriptor, offset, size] : given) {
    const FilePart part{descriptor, offset, size};
    const std::size_t first = std::min((at + page_size - 1) / page_size * page_size, at + size);
    const std::size_t last = std::max((at + size) / page_size * page_size, first);
    if (first > at) copy_edge(part, 0, base + at, first - at, open_page);
    if (last > first && mmap(base + first, last - first, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor,
                             static_cast<off_t>(offset + static_cast<std::int64_t>(first - at))) == MAP_FAILED) {
      fail();
    }
    if (at + size > last) copy_edge(part, last - at, base + last, at + size - last, open_page);
    at += size;
  }
  return nb::ndarray<std::uint8_t, nb::numpy, nb::ndim<1>>(base, {total}, free);
}

}  // namespace

void bind_mapping(nb::module_& m) {
  m.def("handle_bus_errors", &handle_bus_errors, nb::arg("keep_before"),
        "Replace missing pages of watched mappings by zeros, and then ask Python's handler for SIGBUS to run; other "
        "bus errors go "
        "to the handler that was there when this was called to keep it.");
  m.def("watch_mapping", &watch_mapping, nb::arg("begin"), nb::arg("size"),
        "Watch this range of addresses; gives its place among the watched ones, or -1 if there are too many.");
  m.def(
      "forget_mapping", [](std::size_t place) { mappings.at(place).begin = 0; }, nb::arg("place"),
      "Stop watching a range, before it is unmapped.");
  m.def(
      "lost_mappings",
      [] {
        std::vector<std::size_t> lost;
        for (std::size_t place = 0; place < mappings.size(); ++place) {
          if (mappings[place].begin != 0 && mappings[place].lost) lost.push_back(place);
        }
        return to_numpy(std::move(lost));
      },
      "The places of the watched ranges of which pages were missing.");
  m.def("map_parts", &map_parts, nb::arg("parts"),
        "Map pieces of files, each given as (descriptor, offset, size), one after the other. Each must lie in its page "
        "as the end of the one before does.");
}

}  // namespace podium::bind
