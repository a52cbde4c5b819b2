#include "files/file_error.hpp"
#include "files/file_operations.hpp"
#include "files/file_root.hpp"
#include "files/folder_reader.hpp"
#include "files/glob.hpp"
#include "text/encodings.hpp"
#include "text/folder_names.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_names = 200'000;  // looked at in one call
constexpr std::size_t deepest_listing = 64;  // folders open at once

/// The order of a walk that visits a folder before its entries, because a slash comes before every other character.
bool comes_before(const std::string& left, const std::string& right)
{
    const auto rank = [](char c) { return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)); };
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        [&](char a, char b) { return rank(a) < rank(b); });
}

const char* type_name(mode_t mode)
{
    if (S_ISREG(mode)) return "file";
    if (S_ISDIR(mode)) return "directory";
    if (S_ISLNK(mode)) return "symlink";
    if (S_ISFIFO(mode)) return "fifo";
    return S_ISSOCK(mode) ? "socket" : "device";
}

/// About how many bytes of JSON an entry takes, escapes counted as in a string within a string.
std::size_t cost(const file_entry& entry)
{
    std::size_t sum = 130;
    for (const std::string* text : {&entry.name, &entry.path})
        for (unsigned char c : *text) sum += c < 0x20 || c == 0x7f ? 7 : c == '"' || c == '\\' || c >= 0x80 ? 6 : 1;
    return sum;
}

class walk {
public:
    explicit walk(file_list_request request)
        : request_(std::move(request)),
          path_("path", request_.path),
          pattern_(request_.pattern.empty() ? "*" : request_.pattern),
          base_(path_.display())
    {
        without_noise_ = request_.without_noise && !request_.pattern.starts_with('.') &&
                         request_.pattern.find("/.") == std::string::npos;
        recursive_ = request_.recursive || (!request_.pattern.empty() && pattern_.is_deep());
        if (!request_.cursor.empty()) after_ = base64_decode(request_.cursor);
        if (!request_.cursor.empty() && !after_)
            throw file_error("cursor is not one that file_list gave as next_cursor.");
    }

    // Nothing: there is more to see.
    std::optional<file_page> go_on(const file_root& root, slice_end until)
    {
        constexpr unsigned between_looks = 64;  // at the clock
        if (!std::exchange(begun_, true)) begin(root);
        for (unsigned seen = 1; !levels_.empty() && !full_; ++seen) {
            level& top = levels_.back();
            if (top.next == top.items.size())
                levels_.pop_back();
            else
                visit(top, top.items[top.next++]);
            if (seen % between_looks == 0 && slice_end::clock::now() >= until) return std::nullopt;
        }
        if (full_) page_.next_cursor = base64_encode(page_.entries.back().path);
        return std::move(page_);
    }

private:
    void begin(const file_root& root)
    {
        unique_fd folder = root.open(path_, O_PATH);
        struct stat status {};
        if (::fstat(folder.get(), &status) == 0 && !S_ISDIR(status.st_mode))
            path_.refuse("is not a folder; file_read reads files.");
        folder = root.open(path_, O_RDONLY | O_DIRECTORY);
        enter(std::move(folder), base_);
    }

    struct level {
        folder_reader reader;
        std::string path;
        std::vector<folder_item> items;
        std::size_t next = 0;
    };

    void enter(unique_fd folder, std::string path)
    {
        level inner{folder_reader(std::move(folder)), std::move(path), {}};
        inner.items = inner.reader.read_all(most_names - seen_ + 1);
        if (inner.items.size() > most_names - seen_) {
            page_.count_limited = true;
            inner.items.pop_back();
        }
        seen_ += inner.items.size();
        std::sort(inner.items.begin(), inner.items.end(),
                  [](const folder_item& a, const folder_item& b) { return comes_before(a.name, b.name); });
        levels_.push_back(std::move(inner));
    }

    void visit(level& top, const folder_item& item)
    {
        const std::string path = top.path.empty() ? item.name : top.path + '/' + item.name;
        const bool shown_before = after_ && !comes_before(*after_, path);
        // The entries of a folder come after it, so the page before may have ended between the two.
        if (shown_before && path != *after_ && !after_->starts_with(path + '/')) return;
        if (without_noise_ && is_noise_in_lists(item.name)) {
            if (recursive_ || request_.pattern.empty()) ++page_.left_out;
            return;
        }
        if (!shown_before && wanted(path)) show(top.reader.descriptor(), path, item.name);
        if (recursive_ && !full_ && (item.type == DT_DIR || item.type == DT_UNKNOWN)) descend(top, path, item.name);
    }

    bool wanted(const std::string& path) const
    {
        if (request_.pattern.empty()) return true;
        return pattern_.finds(base_.empty() ? path : path.substr(base_.size() + 1));
    }

    void show(int folder, const std::string& path, const std::string& name)
    {
        struct stat status {};
        if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone since it was read
        file_entry entry{name, path, type_name(status.st_mode), {}, 0};
        if (!S_ISDIR(status.st_mode)) entry.size = static_cast<std::uint64_t>(status.st_size);
        entry.modified = modified_of(status);
        if (request_.fits && !request_.fits(entry)) return;
        used_ += cost(entry);
        full_ = !page_.entries.empty() && (page_.entries.size() >= request_.limit || used_ > request_.page_bytes);
        if (!full_) page_.entries.push_back(std::move(entry));
    }

    void descend(const level& top, const std::string& path, const std::string& name)
    {
        if (levels_.size() >= deepest_listing || page_.count_limited) {
            page_.depth_limited = page_.depth_limited || levels_.size() >= deepest_listing;
            return;
        }
        // Beneath the open folder a swapped name leads nowhere.
        unique_fd inner = file_root::open_beneath(top.reader.descriptor(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (inner)
            enter(std::move(inner), path);
        else if (errno == EACCES && page_.closed_folder.empty())
            page_.closed_folder = path;
    }

    file_list_request request_;
    file_path path_;
    glob pattern_;
    std::string base_;
    bool recursive_ = false;
    bool without_noise_ = false;
    std::optional<std::string> after_;
    std::vector<level> levels_;
    file_page page_;
    std::size_t seen_ = 0;
    std::size_t used_ = 0;
    bool full_ = false;
    bool begun_ = false;
};

}  // namespace

file_page list_folder(const file_root& root, const file_list_request& request)
{
    auto page = walk(request).go_on(root, slice_end::max());
    return std::move(*page);
}

// The walk is made in the first slice: reading a pattern takes time, too.
sliced_work<file_page> list_folder(found_folder folder, file_list_request request)
{
    return [folder = std::move(folder), request = std::move(request),
            under_way = std::make_shared<std::optional<walk>>()](slice_end until) {
        if (!*under_way) under_way->emplace(request);
        const file_root root(folder());
        return (*under_way)->go_on(root, until);
    };
}

}  // namespace cmcp
