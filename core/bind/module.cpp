#include "bind/bind.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Podium's compiled core. Private: use the names of the podium package.";
  podium::bind::bind_data(m);
  podium::bind::bind_metrics(m);
  podium::bind::bind_forces(m);
}
