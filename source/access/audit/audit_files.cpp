#include "audit/audit_files.hpp"

#include "audit/audit_error.hpp"
#include "audit/chain_check.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace cmcp::audit {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_begin = "audit-", name_end = ".jsonl";
constexpr std::size_t piece = 256 * 1024;

std::optional<std::uint64_t> number_of_name(std::string_view name)
{
    if (!name.starts_with(name_begin) || !name.ends_with(name_end)) return std::nullopt;
    name.remove_prefix(name_begin.size());
    name.remove_suffix(name_end.size());
    const auto number = read_number(name);
    return number && *number != 0 ? number : std::nullopt;
}

}  // namespace

std::string file_name_of(std::uint64_t first)
{
    char digits[24];
    std::snprintf(digits, sizeof digits, "%012llu", static_cast<unsigned long long>(first));
    return std::string(name_begin) + digits + std::string(name_end);
}

std::vector<audit_file> files_in(const fs::path& folder)
{
    std::vector<audit_file> all;
    std::error_code failure;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
        if (const auto first = number_of_name(at->path().filename().string())) all.push_back({*first, at->path()});
    if (failure) throw audit_error("the audit in " + folder.string() + " cannot be read: " + failure.message());
    std::ranges::sort(all, {}, &audit_file::first);
    return all;
}

line_reader::line_reader(const fs::path& file)
    : path_(file), file_(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC))
{
    if (!file_) throw audit_error(file.string() + " cannot be read: " + std::strerror(errno));
}

bool line_reader::read_more()
{
    if (at_ != 0) buffer_.erase(0, at_);
    searched_ -= at_;
    at_ = 0;
    const auto before = buffer_.size();
    buffer_.resize(before + piece);
    ssize_t size = 0;
    do size = ::read(file_.get(), buffer_.data() + before, piece);
    while (size < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size < 0) throw audit_error(path_.string() + " cannot be read: " + std::strerror(errno));
    return size > 0;
}

std::optional<std::string_view> line_reader::next()
{
    for (;;) {
        auto end = buffer_.find('\n', searched_);
        const bool too_long = end == std::string::npos && buffer_.size() - at_ > longest_line;
        if (too_long) end = buffer_.size();
        if (end != std::string::npos) {
            const auto line = std::string_view(buffer_).substr(at_, end - at_);
            at_ = searched_ = std::min(end + 1, buffer_.size());
            return line;
        }
        searched_ = buffer_.size();
        if (!read_more()) return std::nullopt;
    }
}

}  // namespace cmcp::audit
