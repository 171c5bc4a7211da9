// Growing a symmetric tree: one split per level, the same for all of its nodes. [oblivious trees]
#pragma once

#include <cstdint>

#include "parallel.hpp"
#include "trees/binned.hpp"
#include "trees/grow.hpp"

namespace podium {

// The split of a level is the one that gains most over all nodes of the level; a side of a node without enough
// curvature has value 0. There are as many levels as num_leaves and max_depth allow, or fewer if no split gains.
template <class Cell>
GrownTree grow_symmetric(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                         GrowWorkspace<Cell>& workspace, int num_threads);

}  // namespace podium
