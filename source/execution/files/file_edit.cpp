#include "files/file_edit.hpp"

#include "files/file_error.hpp"
#include "files/text_encoding.hpp"
#include "files/unified_diff.hpp"
#include "posix/bytes.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

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

// An edit under way, whose edits are made one after the other.
class edit_in_steps {
public:
    edit_in_steps(file_policy policy, file_edit_request request)
        : policy_(std::move(policy)), request_(std::move(request)), path_("path", request_.path)
    {
    }

    std::optional<edited_file> go_on(const file_root& root, slice_end until)
    try {
        if (!edits_) read(root);
        while (!edits_->done()) {
            if (slice_clock::now() >= until) return std::nullopt;
            edits_->step();
        }
        return finish(root);
    } catch (const std::system_error& problem) {
        forget();
        path_.fail(problem.code().value());
    } catch (...) {
        forget();
        throw;
    }

private:
    using slice_clock = slice_end::clock;

    void read(const file_root& root)
    {
        policy_.check_extension("path", path_.relative());
        const auto whole = read_whole(root, policy_, path_);
        encoding_.emplace(encoding_by_mark(request_.encoding, whole.bytes));
        before_ = text_of(path_, *encoding_, whole.bytes, !request_.encoding.empty());
        edited_.read = whole.status;
        edits_.emplace(before_, request_.edits);
    }

    edited_file finish(const file_root& root)
    {
        const auto after = std::move(*edits_).result();
        edited_.replaced = after.replaced;
        edited_.diff = unified_diff(before_, after.text, path_.display());
        edited_.file = prepare_bytes(root, policy_, path_, encoding_->encode(after.text));
        forget();
        return std::move(edited_);
    }

    // On the thread that works: a caller may have sent very many edits.
    void forget()
    {
        edits_.reset();
        request_ = {};
        before_ = {};
    }

    file_policy policy_;
    file_edit_request request_;
    file_path path_;
    std::optional<text_encoding> encoding_;
    std::string before_;
    std::optional<edits_in_steps> edits_;
    edited_file edited_;
};

}  // namespace

edited_file prepare_edit(const file_root& root, const file_policy& policy, const file_edit_request& request)
{
    auto edited = edit_in_steps(policy, request).go_on(root, slice_end::max());
    return std::move(*edited);
}

sliced_work<edited_file> prepare_edit(found_folder folder, file_policy policy, file_edit_request request)
{
    auto steps = std::make_shared<edit_in_steps>(std::move(policy), std::move(request));
    return [folder = std::move(folder), steps](slice_end until) {
        const file_root root(folder());
        return steps->go_on(root, until);
    };
}

}  // namespace cmcp
