// e^x of many numbers at once, the same bits on every machine; |x| is taken as at most 700.
#pragma once

#include <span>

namespace podium {

void exponentials(std::span<double> values);

}  // namespace podium
