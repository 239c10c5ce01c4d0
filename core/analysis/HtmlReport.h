// SPDX-License-Identifier: GPL-3.0-or-later
// A study's findings as one page to send to a colleague: no scripts, nothing loaded from elsewhere.
#pragma once

#include "analysis/Attribution.h"
#include "analysis/StudyResults.h"

#include <string>
#include <string_view>

namespace driftscope {

struct HtmlReportContext {
    Attribution attribution;
    std::string studyToml; ///< the study as it was written; "": as it is understood
    std::string created;   ///< ISO 8601, UTC
};

/// HTML in UTF-8 that is well-formed XML too. Everything that comes from the study or its recordings is escaped.
std::string htmlReport(const StudyResults& results, const HtmlReportContext& context);

/// Whether a file that begins like this is a page that htmlReport wrote, in this version or another.
bool isHtmlReport(std::string_view beginning);

} // namespace driftscope
