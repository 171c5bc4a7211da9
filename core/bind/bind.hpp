// Shared by the binding files, which are the only files of the core that know Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "interrupt.hpp"

namespace podium::bind {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableVector = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableMatrix = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Sizes are checked here too, where a wrong one would read or write past an array.
inline void check_size(const char* what, std::size_t found, std::size_t needed) {
  if (found == needed) return;
  throw std::invalid_argument(std::string(what) + " has size " + std::to_string(found) + ", and " +
                              std::to_string(needed) + " is needed");
}

// Asks Python whether a signal handler has raised an exception; null where this is not Python's main thread.
Interruptible::Poll signal_poll();

// While it exists, other Python threads run, and a signal whose handler raises (Ctrl-C) stops the computation.
class ReleasedGil {
 public:
  ReleasedGil() : interruptible_(signal_poll()) {}

 private:
  nb::gil_scoped_release release_;
  Interruptible interruptible_;
};

// A NumPy array that takes over the vector's memory.
template <class T>
auto to_numpy(std::vector<T>&& values) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(owner->data(), {owner->size()}, free);
}

// Calls a user's function of one query. It gets arrays of its own: it may keep them, or write into them. Needs the GIL.
inline nb::object call_user(const nb::object& function, std::int64_t n, const double* scores, const double* labels) {
  return function(to_numpy(std::vector<double>(scores, scores + n)).cast(),
                  to_numpy(std::vector<double>(labels, labels + n)).cast());
}

// Holds Python objects for code that lets go of them on any thread.
template <class T>
std::shared_ptr<void> hold_with_gil(T* held) {
  return std::shared_ptr<void>(held, [](void* last) {
    nb::gil_scoped_acquire gil;
    delete static_cast<T*>(last);
  });
}

void bind_signals(nb::module_& m);
void bind_mapping(nb::module_& m);
void bind_data(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_network_inputs(nb::module_& m);
void bind_forces(nb::module_& m);
void bind_force_parameters(nb::module_& m);
void bind_net(nb::module_& m);
void bind_nadaraya_watson(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_online(nb::module_& m);
void bind_sharing(nb::module_& m);

}  // namespace podium::bind
