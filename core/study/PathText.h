// SPDX-License-Identifier: GPL-3.0-or-later
// Paths as a legend shows them: no more of each than tells it apart.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// For each path the fewest of its last names that no other of the paths ends in: "a/images" and "b/images" for
/// /data/a/images and /data/b/images, "images" where it is the only one of that name. Equal paths give equal texts.
std::vector<std::string> shortPaths(std::span<const std::string> paths);

} // namespace driftscope
