// What the binding files share. These are the only files of the core that know Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

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

// A NumPy array that takes over the vector's memory.
template <class T>
auto to_numpy(std::vector<T>&& values) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(owner->data(), {owner->size()}, free);
}

void bind_data(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_forces(nb::module_& m);
void bind_net(nb::module_& m);
void bind_nadaraya_watson(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_online(nb::module_& m);

}  // namespace podium::bind
