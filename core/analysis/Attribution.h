// SPDX-License-Identifier: GPL-3.0-or-later
// Which axis does it: all pairs of a study's runs that differ in exactly one of them.
#pragma once

#include "analysis/StudyResults.h"

#include <cstddef>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

/// What pairs of runs that differ in one axis alone have shown. Divergence: relative L2 distance at their last common
/// recorded step, the median over the pairs that differ; NaN where it is not kept, 0 where none differs.
struct AxisEffect {
    std::string axis;
    std::size_t pairs = 0;     ///< that there are
    std::size_t compared = 0;  ///< of these, evenly chosen where there are very many
    std::size_t identical = 0; ///< of those compared: equal bits at every common recorded step
    double median = 0;
    double largest = 0;
    struct Layer {
        std::string name;
        std::size_t identical = 0; ///< pairs with equal bits at the last common recorded step
        double median = 0;
    };
    std::vector<Layer> layers; ///< in the order of the model
};

/// Two axes that do together what neither does alone, for some values of both.
struct Interaction {
    std::string first, second;
    std::string example; ///< "threads 1 → 2 with accumulation 1 → 2"
    double together = 0; ///< median divergence where both change
    double alone = 0;    ///< the larger one of either
};

struct Attribution {
    std::vector<AxisEffect> axes; ///< the largest median first, then those that are not known, then identical ones
    std::vector<Interaction> interactions;
};

/// Compares finished runs with each other: no twins, no controls. Runs whose files can't be read are left out, and pairs
/// of two models too.
Attribution attribute(const StudyResults& results, int threads, std::stop_token stop = {});

} // namespace driftscope
