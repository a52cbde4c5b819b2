#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// At most `most` bytes of an open file from `offset` on, fewer only at its end. Nothing: errno says why.
inline std::optional<std::string> read_at(int fd, std::uint64_t offset, std::size_t most)
{
    std::string bytes(most, '\0');
    std::size_t done = 0;
    while (done < most) {
        const auto got = ::pread(fd, bytes.data() + done, most - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

/// Writes all of `bytes`; false: errno says why not.
inline bool write_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace cmcp
