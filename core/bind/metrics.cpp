#include "bind/bind.hpp"

namespace podium::bind {

void bind_metrics(nb::module_&) {}

}  // namespace podium::bind
