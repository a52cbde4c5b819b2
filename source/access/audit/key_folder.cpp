#include "audit/key_folder.hpp"

#include "audit/audit_error.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/ascii.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cmcp::audit {

namespace {

namespace fs = std::filesystem;

constexpr const char* current_name = "current";
constexpr const char* next_name = "next";
constexpr std::size_t longest_key = 256, digits_of_key = 64;

[[noreturn]] void cannot_key(const fs::path& what, const std::string& why)
{
    throw audit_error("the audit's signing key " + what.string() + " cannot be kept (" + why + ")");
}

bool overwrite(const fs::path& file, std::string_view text, int flags)
{
    const unique_fd open_file(::open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
    return open_file && ::fchmod(open_file.get(), S_IRUSR | S_IWUSR) == 0 && write_all(open_file.get(), text) &&
           ::fsync(open_file.get()) == 0;
}

}  // namespace

key_folder::key_folder(fs::path folder) : folder_(std::move(folder))
{
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) cannot_key(folder_, std::strerror(errno));
    current_ = read(current_name);
    next_ = read(next_name);
}

// A file that is no key is that of a change, or of an erasure, that was cut off.
std::optional<signing_key> key_folder::read(const char* name) const
{
    const unique_fd file(::open((folder_ / name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file && errno != ENOENT) cannot_key(folder_ / name, std::strerror(errno));
    if (!file) return std::nullopt;
    (void)::fchmod(file.get(), S_IRUSR | S_IWUSR);  // a volume's owner and mode may be the engine's choice
    const auto text = read_at(file.get(), 0, longest_key);
    if (!text) cannot_key(folder_ / name, std::strerror(errno));
    try {
        return signing_key(trimmed(*text, white_space));
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

void key_folder::sync() const
{
    const unique_fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) cannot_key(folder_, std::strerror(errno));
}

const std::string& key_folder::make_next()
{
    auto fresh = signing_key::make();
    if (!overwrite(folder_ / next_name, fresh.seed() + "\n", O_CREAT | O_TRUNC))
        cannot_key(folder_ / next_name, std::strerror(errno));
    sync();
    return next_.emplace(std::move(fresh)).public_key();
}

void key_folder::take_next()
{
    if (current_) overwrite(folder_ / current_name, std::string(digits_of_key, '0') + "\n", 0);
    if (::rename((folder_ / next_name).c_str(), (folder_ / current_name).c_str()) != 0)
        cannot_key(folder_ / current_name, std::strerror(errno));
    sync();
    current_ = std::move(next_);
    next_.reset();
}

bool key_folder::choose(std::string_view public_key)
{
    if (current_ && current_->public_key() == public_key) {
        next_.reset();
        return true;
    }
    if (!next_ || next_->public_key() != public_key) return false;
    take_next();
    return true;
}

}  // namespace cmcp::audit
