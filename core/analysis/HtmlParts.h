// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of the page; private to core/analysis. Each gives well-formed HTML, or "" where it has nothing to say.
#pragma once

#include "analysis/Attribution.h"
#include "analysis/StudyResults.h"

#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// A table whose cells are HTML; columns from `firstNumber` on are aligned right.
std::string htmlTable(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                      std::string_view cssClass = "");

/// Three digits, all of them for hovering; "" for NaN.
std::string htmlNumber(double value);

/// Shape and word in the verdict's colour, never colour alone; "" for no verdict.
std::string htmlBadge(std::string_view kind);

/// A section for each run that differs: what it is, what to do, and what says so.
std::string htmlVerdicts(const StudyResults& results);

std::string htmlGrowth(const StudyResults& results);
std::string htmlAttribution(const Attribution& attribution);

/// What all runs' environments have in common, and where they differ.
std::string htmlEnvironment(const StudyResults& results);

} // namespace driftscope
