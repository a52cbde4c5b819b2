#include "files/file_edit.hpp"

#include "files/file_error.hpp"
#include "files/text_encoding.hpp"
#include "files/unified_diff.hpp"
#include "posix/bytes.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

struct whole_file {
    std::string bytes;
    struct stat status {};
};

whole_file read_whole(const file_root& root, const file_policy& policy, const file_path& path)
{
    const unique_fd parent = root.open_parent(path);
    struct stat entry {};
    if (::fstatat(parent.get(), path.leaf().c_str(), &entry, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(entry.st_mode))
        path.refuse("is a symbolic link; edit the file that it leads to.");
    const unique_fd file = root.open_regular(path);
    whole_file whole;
    if (::fstat(file.get(), &whole.status) != 0) path.fail(errno);
    const auto size = static_cast<std::uint64_t>(whole.status.st_size);
    policy.check_size(path.text(), size, "; change it by a program");
    auto bytes = read_at(file.get(), 0, size);
    if (!bytes) path.fail(errno);
    whole.bytes = std::move(*bytes);
    return whole;
}

std::string text_of(const file_path& path, const text_encoding& encoding, const std::string& bytes, bool named)
{
    text_encoding::decoded text;
    try {
        text = encoding.decode(bytes);
    } catch (const file_not_text&) {
        text.consumed = 0;
    }
    if (text.text.find('\0') != std::string::npos ||
        (!named && bytes.find('\0') != std::string::npos && text.consumed == 0))
        path.refuse("is a binary file, which is not edited; change it by a program.");
    if (text.consumed != bytes.size())
        path.refuse(named ? "is no text of this encoding."
                          : "is no UTF-8 text; name its encoding, for example latin-1.");
    if (encoding.encode(text.text) != bytes)
        path.refuse("cannot be written back in this encoding as it was; change it by a program.");
    return std::move(text.text);
}

}  // namespace

edited_file prepare_edit(const file_root& root, const file_policy& policy, const file_edit_request& request)
try {
    const file_path path("path", request.path);
    policy.check_extension("path", path.relative());
    const auto whole = read_whole(root, policy, path);
    const text_encoding encoding(encoding_by_mark(request.encoding, whole.bytes));
    const auto before = text_of(path, encoding, whole.bytes, !request.encoding.empty());
    const auto after = with_edits(before, request.edits);
    edited_file edited;
    edited.read = whole.status;
    edited.replaced = after.replaced;
    edited.diff = unified_diff(before, after.text, path.display());
    edited.file = prepare_bytes(root, policy, path, encoding.encode(after.text));
    return edited;
} catch (const std::system_error& problem) {
    file_path("path", request.path).fail(problem.code().value());
}

}  // namespace cmcp
