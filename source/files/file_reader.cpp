#include "files/file_error.hpp"
#include "files/file_operations.hpp"
#include "files/text_encoding.hpp"
#include "posix/bytes.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace cmcp {

namespace {

std::uint64_t bytes_to_read(const file_policy& policy, const file_read_request& request, std::uint64_t size)
{
    const std::uint64_t left = size - std::min(size, request.offset);
    if (request.limit) return std::min({left, *request.limit, policy.max_size()});
    policy.check_size(request.path, left, "; read it in parts with offset and limit");
    return left;
}

// Bytes from `offset` to the end of the `count`-th line feed behind it; to the end of the file where there are fewer.
std::uint64_t length_of_lines(int file, std::uint64_t offset, std::uint64_t count)
{
    constexpr std::size_t piece = 64 << 10;
    std::uint64_t length = 0;
    while (count > 0) {
        const auto bytes = read_at(file, offset + length, piece);
        if (!bytes || bytes->empty()) break;
        const auto feeds = static_cast<std::uint64_t>(std::count(bytes->begin(), bytes->end(), '\n'));
        if (feeds < count) {
            count -= feeds;
            length += bytes->size();
            continue;
        }
        std::size_t end = 0;
        for (; count > 0; --count) end = bytes->find('\n', end) + 1;
        length += end;
    }
    return length;
}

// Lines as the bytes that they are.
file_read_request by_bytes(file_read_request request, int file)
{
    if (request.line) request.offset = length_of_lines(file, 0, std::max<std::uint64_t>(*request.line, 1) - 1);
    if (!request.lines) return request;
    const auto length = length_of_lines(file, request.offset, *request.lines);
    request.limit = std::min(request.limit.value_or(length), length);
    return request;
}

/// Fills reply.content; returns how many of the bytes it holds.
std::size_t decode_into(file_content& reply, const file_path& path, const file_read_request& request, std::string bytes)
{
    if (request.encoding == "base64") {
        reply.content = base64_encode(bytes);
        return bytes.size();
    }
    const text_encoding encoding(request.encoding);
    if (request.offset != 0 && encoding.needs_beginning())
        throw file_error("encoding utf-16 needs the beginning of the file; use utf-16le or utf-16be with offset.");
    try {
        auto text = encoding.decode(bytes);
        reply.content = std::move(text.text);
        return text.consumed;
    } catch (const file_not_text& problem) {
        throw file_not_text(path.field() + ' ' + quote_path(path.text()) + ' ' + problem.what());
    }
}

}  // namespace

std::string read_bytes(const file_root& root, const file_policy& policy, const file_path& path)
{
    const unique_fd file = root.open_regular(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) path.fail(errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    policy.check_size(path.text(), size, "");
    auto bytes = read_at(file.get(), 0, size);
    if (!bytes) path.fail(errno);
    return std::move(*bytes);
}

file_content read_file(const file_root& root, const file_policy& policy, const file_read_request& wanted)
{
    const file_path path("path", wanted.path);
    if (wanted.encoding != "base64") text_encoding{wanted.encoding};  // refused before anything is opened
    policy.check_extension("path", path.relative());
    const unique_fd file = root.open_regular(path);
    const auto request = by_bytes(wanted, file.get());
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) path.fail(errno);

    file_content reply;
    reply.size = static_cast<std::uint64_t>(status.st_size);
    reply.modified = modified_of(status);
    auto bytes = read_at(file.get(), request.offset, bytes_to_read(policy, request, reply.size));
    if (!bytes) path.fail(errno);
    const std::uint64_t got = bytes->size();
    const std::uint64_t taken = decode_into(reply, path, request, std::move(*bytes));
    const std::uint64_t end = request.offset + taken;
    const bool to_the_end = request.offset + got >= reply.size;
    if (taken < got && to_the_end)
        throw file_not_text("path " + quote_path(request.path) +
                            " ends within a character; read it with encoding \"base64\".");
    if (taken == 0 && got > 0) throw file_error("limit is too small for one character; ask for at least 4 bytes.");
    // A file that was cut short meanwhile has no more bytes, although its size said so.
    if (end < reply.size && (got > 0 || request.limit == std::uint64_t{0})) reply.next_offset = end;
    const auto feeds = std::count(reply.content.begin(), reply.content.end(), '\n');
    if (reply.next_offset && wanted.line) reply.next_line = *wanted.line + static_cast<std::uint64_t>(feeds);
    return reply;
}

}  // namespace cmcp
