#include "bind/bind.hpp"
#include "data/scan.hpp"

namespace podium::bind {

void bind_data(nb::module_& m) {
  m.def(
      "first_infinite",
      [](Matrix<float> values, int num_threads) {
        nb::gil_scoped_release release;
        return first_infinite(values.data(), values.size(), num_threads);
      },
      nb::arg("values"), nb::arg("num_threads"), "Flat index of the first infinite value, or -1.");
}

}  // namespace podium::bind
