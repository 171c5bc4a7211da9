// Files mapped into memory. If one becomes shorter while it is in use, the system sends SIGBUS to whoever reads past
// its new end, which would kill the process. Here the missing pages are replaced by zeros, so that the reader gets to
// its end, and Python's handler for SIGBUS is asked to run, which raises an exception.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "bind/bind.hpp"

namespace podium::bind {
namespace {

struct Mapping {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // 0: the place is free
  std::atomic<bool> lost{false};
};

// The signal handler may neither allocate nor wait, so there are so many places and no more.
std::array<Mapping, 512> mappings;
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
}

}  // namespace podium::bind
