#pragma once

#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// The reading and the writing end of a new pipe, close-on-exec; none with errno.
inline std::pair<unique_fd, unique_fd> make_pipe(int flags = 0)
{
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | flags) != 0) return {};
    return {unique_fd(ends[0]), unique_fd(ends[1])};
}

/// False with errno: not all of it could be written.
inline bool write_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// At most `most` bytes of an open file from `offset` on, fewer only at its end. Nothing: errno says why.
inline std::optional<std::string> read_at(int fd, std::uint64_t offset, std::size_t most)
{
    std::string bytes(most, '\0');
    std::size_t done = 0;
    while (done < most) {
        const ssize_t length = ::pread(fd, bytes.data() + done, most - done, static_cast<off_t>(offset + done));
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return std::nullopt;
        if (length == 0) break;
        done += static_cast<std::size_t>(length);
    }
    bytes.resize(done);
    return bytes;
}

/// Until the end, or until it cannot be read any more.
inline std::string read_all(int fd)
{
    std::string all;
    char piece[4096];
    for (;;) {
        const ssize_t length = ::read(fd, piece, sizeof piece);
        if (length > 0)
            all.append(piece, static_cast<std::size_t>(length));
        else if (length == 0 || errno != EINTR)
            return all;
    }
}

}  // namespace cmcp
