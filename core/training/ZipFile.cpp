// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/ZipFile.h"

#include "study/DataFiles.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

namespace driftscope {
namespace {

/// No deflated byte stands for more than 1032.
constexpr std::uint64_t strongestDeflation = 1032;

class ZipMember : public ByteSource {
public:
    ZipMember(std::string name, std::shared_ptr<zip> archive, std::size_t index, std::uint64_t size)
        : m_name(std::move(name)), m_zip(std::move(archive)), m_file(zip_fopen_index(m_zip.get(), index, 0)),
          m_left(size) {
        if (!m_file)
            throw DataError(fmt::format("{}: {}", m_name, zip_strerror(m_zip.get())));
    }

    [[nodiscard]] std::uint64_t left() const override { return m_left; }

    void read(std::span<std::uint8_t> out) override {
        while (!out.empty()) {
            const zip_int64_t n = zip_fread(m_file.get(), out.data(), out.size());
            if (n <= 0 || static_cast<std::uint64_t>(n) > m_left)
                failTooShort(m_name, out.size());
            out = out.subspan(static_cast<std::size_t>(n));
            m_left -= static_cast<std::uint64_t>(n);
        }
        std::uint8_t none = 0; // libzip compares the checksum when it finds the end
        if (m_left == 0 && zip_fread(m_file.get(), &none, 1) != 0)
            throw DataError(fmt::format("{}: is damaged: its checksum or size is wrong", m_name));
    }

private:
    struct Close {
        void operator()(zip_file_t* file) const { zip_fclose(file); }
    };
    std::string m_name;
    std::shared_ptr<zip> m_zip;
    std::unique_ptr<zip_file_t, Close> m_file;
    std::uint64_t m_left;
};

} // namespace

ZipFile::ZipFile(const std::filesystem::path& path) : m_path(path) {
    int code = 0;
    m_zip.reset(zip_open(path.c_str(), ZIP_RDONLY, &code), [](zip* archive) {
        if (archive)
            zip_discard(archive);
    });
    if (m_zip)
        return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw DataError(fmt::format("{}: not a zip archive, which an .npz is: {}; np.savez(file, x=…, y=…) writes one",
                                path.string(), reason));
}

std::vector<std::string> ZipFile::members() const {
    const zip_int64_t count = zip_get_num_entries(m_zip.get(), 0);
    std::vector<std::string> names(static_cast<std::size_t>(std::max<zip_int64_t>(0, count)));
    for (std::size_t i = 0; i < names.size(); ++i)
        if (const char* name = zip_get_name(m_zip.get(), i, ZIP_FL_ENC_RAW))
            names[i] = name;
    return names;
}

std::unique_ptr<ByteSource> ZipFile::open(std::size_t member) const {
    const std::string name = fmt::format("{}: {}", m_path.string(), members().at(member));
    constexpr zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t stat;
    if (zip_stat_index(m_zip.get(), member, 0, &stat) != 0 || (stat.valid & needed) != needed)
        throw DataError(fmt::format("{}: {}", name, zip_strerror(m_zip.get())));
    const bool isStored = stat.comp_method == ZIP_CM_STORE;
    if (stat.encryption_method != ZIP_EM_NONE || (!isStored && stat.comp_method != ZIP_CM_DEFLATE))
        throw DataError(fmt::format("{}: encrypted or compressed in a way that NumPy does not write; "
                                    "np.savez and np.savez_compressed write what can be read",
                                    name));
    std::error_code error;
    const std::uint64_t fileSize = std::filesystem::file_size(m_path, error);
    if (error || stat.comp_size > fileSize || stat.size / (isStored ? 1 : strongestDeflation) > stat.comp_size)
        throw DataError(fmt::format("{}: is damaged: {} bytes cannot come out of {}", name, stat.size,
                                    stat.comp_size));
    return std::make_unique<ZipMember>(name, m_zip, member, stat.size);
}

} // namespace driftscope
