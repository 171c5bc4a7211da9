// Ends a function after a switch that returns for every enumerator.
#pragma once

namespace podium {

// Switches over enums have no `default`, so that the compiler (-Werror=switch) names every switch that a new enumerator
// is missing from. This call follows the switch, because C++ lets an enum hold values that have no name.
[[noreturn]] inline void unreachable() {
  __builtin_unreachable();
}

}  // namespace podium
