#include "bind/bind.hpp"
#include "dispatch.hpp"

NB_MODULE(_core, m) {
  // Objects that Python still holds when it exits, in a cache or through a user's function, are not reported.
  nanobind::set_leak_warnings(false);
  m.doc() = "Podium's compiled core. Private: use the names of the podium package.";
  m.def(
      "use_avx2",
      [](bool allowed) {
        podium::avx2_allowed = allowed;
        return podium::has_avx2();
      },
      nanobind::arg("allowed"), "Allows or forbids AVX2, for tests; returns whether it is used on this machine.");
  m.def(
      "use_avx512",
      [](bool allowed) {
        podium::avx512_allowed = allowed;
        return podium::has_avx512();
      },
      nanobind::arg("allowed"), "Allows or forbids AVX-512, for tests; returns whether it is used on this machine.");
  podium::bind::bind_signals(m);
  podium::bind::bind_mapping(m);
  podium::bind::bind_data(m);
  podium::bind::bind_metrics(m);
  podium::bind::bind_networks(m);
  podium::bind::bind_forces(m);
  podium::bind::bind_network_inputs(m);
  podium::bind::bind_force_parameters(m);
  podium::bind::bind_net(m);
  podium::bind::bind_nadaraya_watson(m);
  podium::bind::bind_trees(m);
  podium::bind::bind_scoring(m);
  podium::bind::bind_explain(m);
  podium::bind::bind_online(m);
  podium::bind::bind_sharing(m);
}
