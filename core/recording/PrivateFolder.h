// SPDX-License-Identifier: GPL-3.0-or-later
// A temporary folder that nobody else can read or guess, removed with all it holds.
#pragma once

#include <filesystem>
#include <string_view>

namespace driftscope {

class PrivateFolder {
public:
    /// ".name-XXXXXX" in `beside`, or in the system's temporary folder where that can't be written. Throws
    /// RecordingError.
    PrivateFolder(const std::filesystem::path& beside, std::string_view name);
    ~PrivateFolder();
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

} // namespace driftscope
