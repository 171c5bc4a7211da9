// Python's signals while the core computes: Ctrl-C, and whatever else has a handler that raises an exception.
#include <pthread.h>

#include <atomic>

#include "bind/bind.hpp"

namespace podium::bind {
namespace {

std::atomic<unsigned long> main_thread{0};  // Python runs signal handlers in its main thread only
std::atomic<std::uint64_t> signal_checks{0};

bool handlers_raise() {
  const nb::gil_scoped_acquire gil;
  signal_checks.fetch_add(1);
  return PyErr_CheckSignals() != 0;  // the exception stays with this thread, and the translator below leaves it there
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Interrupted&) {
  }
}

}  // namespace

Interruptible::Poll signal_poll() {
  return PyThread_get_thread_ident() == main_thread.load(std::memory_order_relaxed) ? handlers_raise : nullptr;
}

void bind_signals(nb::module_& m) {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  // The thread that forks is the main thread of the child.
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
  nb::register_exception_translator(translate);
  m.def(
      "signal_checks", [] { return signal_checks.load(); },
      "How often a computation has looked for signals so far, for tests: it begins to look when it takes long.");
}

}  // namespace podium::bind
