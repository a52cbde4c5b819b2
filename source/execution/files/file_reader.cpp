#include "files/file_error.hpp"
#include "files/file_operations.hpp"
#include "files/text_encoding.hpp"
#include "posix/bytes.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
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

// The end of the `count`-th line feed of the bytes, which begin with a whole character; lowers `count` by those that
// there are, where they are fewer, and gives the end of the bytes.
std::size_t end_of_lines(std::string_view bytes, std::string_view feed, std::uint64_t& count)
{
    for (std::size_t from = 0;;) {
        const auto at = bytes.find(feed, from);
        if (at == std::string_view::npos) return bytes.size();
        from = at + 1;
        if (at % feed.size() != 0) continue;  // halves of two characters
        from = at + feed.size();
        if (--count == 0) return from;
    }
}

std::string_view line_feed_in(const std::string& encoding)
{
    if (encoding == "utf-32le") return {"\n\0\0\0", 4};
    if (encoding == "utf-32be") return {"\0\0\0\n", 4};
    if (encoding == "utf-16le") return {"\n\0", 2};
    return encoding == "utf-16be" ? std::string_view("\0\n", 2) : "\n";
}

// Bytes from `offset` to the end of the `count`-th line feed behind it; to the end of the file where there are fewer.
std::uint64_t length_of_lines(int file, std::string_view feed, std::uint64_t offset, std::uint64_t count)
{
    constexpr std::size_t piece = 64 << 10;
    std::uint64_t length = 0;
    while (count > 0) {
        const auto bytes = read_at(file, offset + length, piece);
        if (!bytes || bytes->empty()) break;
        length += end_of_lines(*bytes, feed, count);
    }
    return length;
}

// utf-8 is what nobody has chosen, and a file may say otherwise by its first bytes.
std::string encoding_in(int file, const std::string& named)
{
    const bool open = equal_ignoring_case(named, "utf-8") || equal_ignoring_case(named, "utf-16") ||
                      equal_ignoring_case(named, "utf-32");
    const auto mark = open ? read_at(file, 0, 4) : std::nullopt;
    const auto marked = encoding_by_mark("", mark ? *mark : std::string());
    return marked == "utf-8" ? named : marked;
}

// Lines as the bytes that they are.
file_read_request by_bytes(file_read_request request, int file)
{
    const auto feed = line_feed_in(request.encoding);
    if (request.line) request.offset = length_of_lines(file, feed, 0, std::max<std::uint64_t>(*request.line, 1) - 1);
    if (!request.lines) return request;
    const auto length = length_of_lines(file, feed, request.offset, *request.lines);
    request.limit = std::min(request.limit.value_or(length), length);
    return request;
}

// A model has no use for the bytes of a picture.
bool is_shown_by_view_file(std::string_view path)
{
    constexpr std::array<std::string_view, 9> extensions{"png", "jpg", "jpeg", "gif", "webp",
                                                         "bmp", "tif", "tiff", "pdf"};
    return std::ranges::find(extensions, file_policy::extension_of(path)) != extensions.end();
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
        throw file_error("encoding " + request.encoding +
                         " needs the beginning of the file; with offset add le or be to its name.");
    try {
        auto text = encoding.decode(bytes);
        constexpr std::string_view mark = "\xEF\xBB\xBF";
        const bool wide = request.encoding.starts_with("utf-16") || request.encoding.starts_with("utf-32");
        const bool marked = request.offset == 0 && wide && text.text.starts_with(mark);
        reply.content = marked ? text.text.substr(mark.size()) : std::move(text.text);
        return text.consumed;
    } catch (const file_not_text& problem) {
        if (is_shown_by_view_file(path.relative()))
            throw file_not_text(path.field() + ' ' + quote_path(path.text()) + " is no text; view_file shows it.");
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
    policy.check_extension("path", path.relative(), "; view_file shows pictures, tables and PDF of any extension");
    const unique_fd file = root.open_regular(path);
    auto named = wanted;
    named.encoding = encoding_in(file.get(), wanted.encoding);
    const auto request = by_bytes(std::move(named), file.get());
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) path.fail(errno);

    file_content reply;
    reply.size = static_cast<std::uint64_t>(status.st_size);
    reply.modified = modified_of(status);
    auto bytes = read_at(file.get(), request.offset, bytes_to_read(policy, request, reply.size));
    if (!bytes) path.fail(errno);
    const std::uint64_t got = bytes->size();
    const std::uint64_t decoded = decode_into(reply, path, request, std::move(*bytes));
    const std::uint64_t end = request.offset + decoded;
    const bool to_the_end = request.offset + got >= reply.size;
    if (decoded < got && to_the_end)
        throw file_not_text("path " + quote_path(request.path) +
                            " ends within a character; read it with encoding \"base64\".");
    if (decoded == 0 && got > 0) throw file_error("limit is too small for one character; ask for at least 4 bytes.");
    // A file that was cut short meanwhile has no more bytes, although its size said so.
    if (end < reply.size && (got > 0 || request.limit == std::uint64_t{0})) reply.next_offset = end;
    const auto feeds = std::count(reply.content.begin(), reply.content.end(), '\n');
    if (reply.next_offset && wanted.line) reply.next_line = *wanted.line + static_cast<std::uint64_t>(feeds);
    return reply;
}

}  // namespace cmcp
