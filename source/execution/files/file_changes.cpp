#include "files/file_operations.hpp"

#include "files/file_error.hpp"
#include "files/incoming_file.hpp"
#include "files/text_encoding.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

namespace cmcp {

namespace {

/// The entry itself, not the target of a link; nothing when there is none.
std::optional<struct stat> look(const file_path& path, int parent, const std::string& leaf)
{
    struct stat status {};
    if (::fstatat(parent, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
    if (errno != ENOENT) path.fail(errno);
    return std::nullopt;
}

bool is_read_only(const struct stat& status, int parent, const std::string& leaf)
{
    if ((status.st_mode & 0222) == 0) return true;  // also for root, whom the kernel would let write
    return ::faccessat(parent, leaf.c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0;
}

/// Throws unless the entry may be replaced by a file.
void check_replaceable(const file_root& root, const file_path& path, int parent, const std::string& leaf,
                       const struct stat& status)
{
    if (S_ISDIR(status.st_mode)) path.refuse("is a folder; give the name of a file in it.");
    if (S_ISLNK(status.st_mode)) {
        const unique_fd target = file_root::open_beneath(root.descriptor(), path.relative(), O_PATH);
        if (!target && errno != ENOENT) path.fail(errno);
        return;
    }
    if (!S_ISREG(status.st_mode)) path.refuse("is not a regular file (a FIFO, socket or device) and is not replaced.");
    if (is_read_only(status, parent, leaf)) path.refuse("is read-only; write to another name or delete it first.");
}

std::string to_bytes(const file_write_request& request)
{
    if (request.encoding != "base64") return text_encoding(request.encoding).encode(request.content);
    auto content = decode_content(request.content);
    if (!content.problem.empty()) throw file_error("content " + content.problem + ".");
    return std::move(content.bytes);
}

void refuse_trailing_slash(const file_path& path)
{
    if (path.trailing_slash()) path.refuse("ends with a slash and so names a folder; give the name of a file.");
}

struct entry {
    unique_fd folder;
    std::string leaf;
    struct stat status {};
};

entry find_source(const file_root& root, const file_policy& policy, const file_path& source)
{
    entry from;
    from.leaf = source.leaf();
    from.folder = root.open_parent(source);
    const auto status = look(source, from.folder.get(), from.leaf);
    if (!status) source.fail(ENOENT);
    from.status = *status;
    if (S_ISDIR(status->st_mode)) return from;
    refuse_trailing_slash(source);
    if (!S_ISREG(status->st_mode) && !S_ISLNK(status->st_mode))
        source.refuse("is not a regular file (a FIFO, socket or device) and is not moved.");
    policy.check_extension("source", source.relative());
    return from;
}

void check_overwrite(const file_root& root, const file_path& destination, const entry& from, int parent,
                     const std::string& leaf)
{
    const auto present = look(destination, parent, leaf);
    if (!present) return;
    if (S_ISDIR(from.status.st_mode)) destination.refuse("exists; a folder is moved only to a name that is free.");
    check_replaceable(root, destination, parent, leaf, *present);
}

[[noreturn]] void fail_move(const file_path& source, const file_path& destination, int error)
{
    if (error == EEXIST || error == ENOTEMPTY)
        destination.refuse("exists; choose another name, or set overwrite to replace a file.");
    if (error == EINVAL) source.refuse("cannot be moved into itself.");
    if (error == EISDIR) destination.refuse("is a folder; give the name that the file shall have in it.");
    if (error == EXDEV) destination.refuse("is on another file system; copy the file with file_read and file_write.");
    if (error == EBUSY) source.refuse("is in use by the system and cannot be moved.");
    (error == ENOENT ? source : destination).fail(error);
}

}  // namespace

std::shared_ptr<incoming_file> prepare_bytes(const file_root& root, const file_policy& policy, const file_path& path,
                                             std::string_view bytes)
{
    const std::string leaf = path.leaf();
    policy.check_size(path.text(), bytes.size(), "; write less, or split it into several files");
    const unique_fd parent = root.make_parent(path);
    const auto present = look(path, parent.get(), leaf);
    if (present) check_replaceable(root, path, parent.get(), leaf, *present);
    const mode_t mode = present && S_ISREG(present->st_mode) ? present->st_mode & 0777 : 0644;
    auto file = std::make_shared<incoming_file>(root, path, mode);
    file->append(bytes);
    return file;
}

std::shared_ptr<incoming_file> prepare_file(const file_root& root, const file_policy& policy,
                                            const file_write_request& request)
try {
    const file_path path("path", request.path);
    (void)path.leaf();  // refuses what is no name of a file
    refuse_trailing_slash(path);
    policy.check_extension("path", path.relative());
    return prepare_bytes(root, policy, path, to_bytes(request));
} catch (const std::system_error& problem) {
    file_path("path", request.path).fail(problem.code().value());
}

void write_file(const file_root& root, const file_policy& policy, const file_write_request& request)
{
    prepare_file(root, policy, request)->publish();
}

void delete_file(const file_root& root, const file_policy& policy, const file_path& path)
{
    const std::string leaf = path.leaf();
    const unique_fd parent = root.open_parent(path);
    const auto present = look(path, parent.get(), leaf);
    if (!present) path.fail(ENOENT);
    if (S_ISDIR(present->st_mode))
        path.refuse("is a folder; only files are deleted. A command (rm -r) removes a folder.");
    refuse_trailing_slash(path);
    policy.check_extension("path", path.relative());
    if (::unlinkat(parent.get(), leaf.c_str(), 0) != 0) path.fail(errno);
}

void move_file(const file_root& root, const file_policy& policy, const file_move_request& request)
{
    const file_path source("source", request.source);
    const file_path destination("destination", request.destination);
    const std::string leaf = destination.leaf();
    const entry from = find_source(root, policy, source);
    if (!S_ISDIR(from.status.st_mode)) {
        refuse_trailing_slash(destination);
        policy.check_extension("destination", destination.relative());
    }
    const unique_fd parent = root.make_parent(destination);
    if (request.overwrite) check_overwrite(root, destination, from, parent.get(), leaf);
    const unsigned flags = request.overwrite && !S_ISDIR(from.status.st_mode) ? 0 : RENAME_NOREPLACE;
    if (::renameat2(from.folder.get(), from.leaf.c_str(), parent.get(), leaf.c_str(), flags) != 0)
        fail_move(source, destination, errno);
}

}  // namespace cmcp
