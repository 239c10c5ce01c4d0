// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/NpyFile.h"

#include "training/ArraySamples.h"
#include "training/ZipFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

namespace driftscope {
namespace {

/// Reads the header's Python dictionary, such as
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& name) : m_text(text), m_name(name) {}

    /// The array's type and shape.
    void parse(StoredArray& array) {
        bool hasType = false, hasOrder = false, hasShape = false;
        expect('{');
        while (!takes('}')) {
            const std::string_view key = string();
            expect(':');
            if (key == "descr" && !std::exchange(hasType, true))
                array.type = type();
            else if (key == "fortran_order" && !std::exchange(hasOrder, true))
                requireCOrder();
            else if (key == "shape" && !std::exchange(hasShape, true))
                array.shape = shape();
            else
                fail();
            if (!takes(',')) {
                expect('}');
                break;
            }
        }
        if (!hasType || !hasOrder || !hasShape)
            fail();
    }

private:
    [[noreturn]] void fail() const {
        throw DataError(fmt::format("{}: its header is damaged: expected descr, fortran_order and shape; "
                                    "np.save(file, array) writes them",
                                    m_name));
    }

    void skipSpace() { m_text.remove_prefix(std::min(m_text.find_first_not_of(" \t\r\n"), m_text.size())); }

    bool takes(char wanted) {
        skipSpace();
        if (m_text.empty() || m_text.front() != wanted)
            return false;
        m_text.remove_prefix(1);
        return true;
    }

    void expect(char wanted) {
        if (!takes(wanted))
            fail();
    }

    /// In either kind of quotes; no key and no type has an escape.
    std::string_view string() {
        const char quote = takes('\'') ? '\'' : '"';
        if (quote == '"')
            expect('"');
        const std::size_t end = m_text.find(quote);
        if (end == std::string_view::npos)
            fail();
        const std::string_view inside = m_text.substr(0, end);
        m_text.remove_prefix(end + 1);
        return inside;
    }

    ElementType type() {
        using Kind = ElementType::Kind;
        static constexpr std::string_view kinds = "uif";
        skipSpace();
        if (m_text.starts_with('['))
            refuseType("several fields");
        const std::string_view descr = string();
        if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
            refuseType(descr);
        const std::size_t kind = kinds.find(descr[1]);
        const int bytes = descr[2] - '0';
        const bool isKnown = kind != std::string_view::npos && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
        if (!isKnown || (descr[1] == 'f' && bytes == 1) || (descr[0] == '|' && bytes > 1))
            refuseType(descr);
        return {std::array{Kind::Unsigned, Kind::Signed, Kind::Real}[kind], bytes, descr[0] == '>'};
    }

    [[noreturn]] void refuseType(std::string_view type) const {
        throw DataError(fmt::format("{}: elements of type {}: expected integers of 8 to 64 bits or floating point of "
                                    "16, 32 or 64 bits; array.astype makes them",
                                    m_name, printable(std::string(type))));
    }

    void requireCOrder() {
        skipSpace();
        if (m_text.starts_with("True"))
            throw DataError(fmt::format("{}: is in Fortran order: expected C order; save np.ascontiguousarray(array)",
                                        m_name));
        if (!m_text.starts_with("False"))
            fail();
        m_text.remove_prefix(5);
    }

    std::vector<std::int64_t> shape() {
        std::vector<std::int64_t> sizes;
        expect('(');
        while (!takes(')')) {
            skipSpace();
            std::int64_t size = 0;
            const auto [end, error] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), size);
            if (error != std::errc{} || size < 0 || sizes.size() == 32) // NumPy's most dimensions
                fail();
            m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
            sizes.push_back(size);
            if (!takes(',')) {
                expect(')');
                break;
            }
        }
        return sizes;
    }

    std::string_view m_text;
    const std::string& m_name;
};

/// Reads the header; the source is then at the first element.
StoredArray openArray(std::string name, std::unique_ptr<ByteSource> data) {
    static constexpr std::array<std::uint8_t, 6> magic{0x93, 'N', 'U', 'M', 'P', 'Y'};
    constexpr std::uint32_t longestHeader = 1 << 16; // far more than an array without fields needs
    StoredArray array{std::move(name), {}, {}, std::move(data)};
    const auto read = [&](std::span<std::uint8_t> out) {
        if (array.data->left() < out.size())
            throw DataError(fmt::format("{}: ends too early: expected an array as np.save(file, array) writes it",
                                        array.name));
        array.data->read(out);
    };
    std::array<std::uint8_t, 8> start{};
    read(start);
    if (!std::equal(magic.begin(), magic.end(), start.begin()))
        throw DataError(fmt::format("{}: is no NumPy array: expected what np.save(file, array) writes", array.name));
    if (start[6] < 1 || start[6] > 3)
        throw DataError(fmt::format("{}: version {} of NumPy's format: expected 1, 2 or 3", array.name, start[6]));
    std::array<std::uint8_t, 4> length{};
    read(std::span(length).first(start[6] == 1 ? 2 : 4));
    const std::uint32_t bytes = length[0] | (std::uint32_t{length[1]} << 8) | (std::uint32_t{length[2]} << 16) |
                                (std::uint32_t{length[3]} << 24);
    if (bytes > longestHeader)
        throw DataError(fmt::format("{}: a header of {} bytes: expected at most {}", array.name, bytes, longestHeader));
    std::string header(bytes, '\0');
    read({reinterpret_cast<std::uint8_t*>(header.data()), header.size()});
    HeaderParser(header, array.name).parse(array);
    return array;
}

} // namespace

SampleSet loadNpy(const DataConfig& config, std::int64_t ignoreIndex) {
    requireDataFiles(config);
    StoredArray inputs, targets;
    if (!config.targets.empty()) {
        inputs = openArray(config.path, std::make_unique<FileSource>(config.path));
        targets = openArray(config.targets, std::make_unique<FileSource>(config.targets));
    } else {
        const ZipFile archive(config.path);
        const std::vector<std::string> members = archive.members();
        std::vector<std::string> names;
        for (const std::string& member : members)
            names.push_back(member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member);
        const auto [x, y] = findArrays(config.path, names);
        inputs = openArray(fmt::format("{}: {}", config.path, members[x]), archive.open(x));
        targets = openArray(fmt::format("{}: {}", config.path, members[y]), archive.open(y));
    }
    return samplesFromArrays(std::move(inputs), std::move(targets), config, ignoreIndex, "NumPy arrays");
}

} // namespace driftscope
