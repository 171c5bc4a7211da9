// Computes e^x of many numbers, with the same bits on every machine; |x| is limited to 700.
#pragma once

#include <span>

namespace podium {

void exponentials(std::span<double> values);

}  // namespace podium
