// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Digest.h"

#include <xxhash.h>

namespace driftscope {

Digest digestOf(std::span<const std::byte> bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.high64, hash.low64};
}

} // namespace driftscope
