// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/PrivateFolder.h"

#include "recording/RunFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace driftscope {

namespace fs = std::filesystem;

PrivateFolder::PrivateFolder(const fs::path& beside, std::string_view name) {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    for (const fs::path& parent : {beside, error ? fs::path("/tmp") : temporary}) {
        std::string pattern = (parent / fmt::format(".{}-XXXXXX", name)).string();
        if (::mkdtemp(pattern.data())) { // mode 0700
            m_path = pattern;
            return;
        }
    }
    throw RecordingError(fmt::format("{}: no temporary folder can be made there: {}", temporary.string(),
                                     std::strerror(errno)));
}

PrivateFolder::~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

} // namespace driftscope
