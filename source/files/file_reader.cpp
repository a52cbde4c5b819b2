#include "files/file_reader.hpp"

#include "files/file_error.hpp"
#include "files/text_encoding.hpp"
#include "text/base64.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace cmcp {

namespace {

std::string read_at_most(const file_path& path, int fd, std::uint64_t offset, std::uint64_t count)
{
    std::string bytes(count, '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const auto got = ::pread(fd, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) path.fail(errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    return bytes;
}

/// How many bytes to read.
std::uint64_t portion(const file_policy& policy, const file_read_request& what, std::uint64_t size)
{
    const std::uint64_t left = size - std::min(size, what.offset);
    if (what.limit) return std::min({left, *what.limit, policy.max_size()});
    policy.check_size(what.path, left, "; read it in parts with offset and limit");
    return left;
}

/// Turns bytes into the content; returns how many of them are in it.
std::size_t decode_into(file_content& made, const file_path& path, const file_read_request& what, std::string bytes)
{
    if (what.encoding == "base64") {
        made.content = base64_encode(bytes);
        return bytes.size();
    }
    const text_encoding encoding(what.encoding);
    if (what.offset != 0 && encoding.needs_beginning())
        throw file_error("encoding utf-16 needs the beginning of the file; use utf-16le or utf-16be with offset.");
    try {
        auto text = encoding.decode(bytes);
        made.content = std::move(text.text);
        return text.consumed;
    } catch (const file_not_text& problem) {
        throw file_not_text(path.field() + ' ' + quote_path(path.given()) + ' ' + problem.what());
    }
}

}  // namespace

file_content read_file(const file_root& root, const file_policy& policy, const file_read_request& what)
{
    const file_path path("path", what.path);
    if (what.encoding != "base64") text_encoding{what.encoding};  // a bad name is told before anything is opened
    policy.check_extension("path", path.relative());
    const unique_fd file = root.open_regular(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) path.fail(errno);

    file_content made;
    made.size = static_cast<std::uint64_t>(status.st_size);
    made.modified = modified_of(status);
    auto bytes = read_at_most(path, file.get(), what.offset, portion(policy, what, made.size));
    const std::uint64_t got = bytes.size();
    const std::uint64_t taken = decode_into(made, path, what, std::move(bytes));
    const std::uint64_t end = what.offset + taken;
    const bool to_the_end = what.offset + got >= made.size;
    if (taken < got && to_the_end)
        throw file_not_text("path " + quote_path(what.path) +
                            " ends within a character; read it with encoding \"base64\".");
    if (taken == 0 && got > 0) throw file_error("limit is too small for one character; ask for at least 4 bytes.");
    // A file that was cut short meanwhile has no more to give, whatever its size was.
    if (end < made.size && (got > 0 || what.limit == std::uint64_t{0})) made.next_offset = end;
    return made;
}

}  // namespace cmcp
