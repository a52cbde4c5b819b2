#include "connect/edited_file.hpp"

#include "posix/bytes.hpp"
#include "text/random_id.hpp"
#include "text/time_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace cmcp::connect {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest = 32u << 20;
constexpr mode_t permissions = 0777;
constexpr mode_t own_alone = 0600;

std::runtime_error trouble(const fs::path& file, const std::string& what)
{
    return std::runtime_error(file.string() + " " + what);
}

bool is_below(const fs::path& path, const fs::path& folder)
{
    const auto relative = path.lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
}

// Of a link to a file that is not there the target; else as weakly_canonical().
fs::path followed(fs::path file)
{
    std::error_code ignored;
    for (int steps = 0; fs::is_symlink(file, ignored); ++steps) {
        if (steps == 40) throw trouble(file, "is a link that leads to itself");
        const auto target = fs::read_symlink(file);
        file = target.is_absolute() ? target : file.parent_path() / target;
    }
    return fs::weakly_canonical(file);
}

void require_regular(const fs::path& file, const struct stat& status)
{
    if (!S_ISREG(status.st_mode)) throw trouble(file, "is no regular file, so it is left alone");
    if (static_cast<std::uint64_t>(status.st_size) > largest)
        throw trouble(file, "has more than 32 MiB, so it is left alone");
}

}  // namespace

edited_file::edited_file(const client_file& where, bool leave_base)
{
    const auto plain = fs::absolute(where.file).lexically_normal();
    const auto base = fs::weakly_canonical(where.base);
    file_ = followed(plain);
    // The way to the base is the user's own choice; links behind it may come with a project that somebody else made.
    linked_ = file_ != base / plain.lexically_relative(fs::absolute(where.base).lexically_normal());
    if (linked_ && !leave_base && !is_below(file_, base))
        throw trouble(plain, "is behind a link, which leads out of " + base.string() + " to " + file_.string() +
                                 ": --follow-link if that is meant");
    read();
}

void edited_file::read()
{
    const unique_fd from(::open(file_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!from && (errno == ENOENT || errno == ENOTDIR)) return;
    struct stat status {};
    if (!from || ::fstat(from.get(), &status) != 0)
        throw trouble(file_, "cannot be read: " + std::string(std::strerror(errno)));
    require_regular(file_, status);
    auto bytes = read_at(from.get(), 0, static_cast<std::size_t>(status.st_size) + 1);
    if (!bytes) throw trouble(file_, "cannot be read: " + std::string(std::strerror(errno)));
    text_ = std::move(*bytes);
    status_ = status;
}

// By descriptor, and the path of the descriptor is compared, so that no folder becomes a link meanwhile.
unique_fd edited_file::open_folder() const
{
    const auto folder = file_.parent_path();
    fs::create_directories(folder);
    unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) throw trouble(folder, "cannot be opened: " + std::string(std::strerror(errno)));
    if (fs::read_symlink("/proc/self/fd/" + std::to_string(opened.get())) != folder)
        throw trouble(folder, "has become a link meanwhile, so nothing is written");
    return opened;
}

void edited_file::check_unchanged(int folder) const
{
    struct stat now {};
    const bool there = ::fstatat(folder, file_.filename().c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
    const bool same = there == status_.has_value() &&
                      (!there || (now.st_ino == status_->st_ino && now.st_mtim.tv_sec == status_->st_mtim.tv_sec &&
                                  now.st_mtim.tv_nsec == status_->st_mtim.tv_nsec && now.st_size == status_->st_size));
    if (!same) throw trouble(file_, "was changed by another program meanwhile: try again");
}

void edited_file::write_beside(int folder, const std::string& name, const std::string& text, mode_t mode) const
{
    const unique_fd to(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) throw trouble(file_.parent_path() / name, "cannot be made: " + std::string(std::strerror(errno)));
    const bool owned = !status_ || (status_->st_uid == ::geteuid() && status_->st_gid == ::getegid()) ||
                       ::fchown(to.get(), status_->st_uid, status_->st_gid) == 0;
    const bool done =
        write_all(to.get(), text) && owned && ::fchmod(to.get(), mode & permissions) == 0 && ::fsync(to.get()) == 0;
    if (done) return;
    const std::string reason = std::strerror(errno);
    ::unlinkat(folder, name.c_str(), 0);
    throw trouble(file_, "cannot be written: " + reason);
}

// The former text may hold a key as well.
fs::path edited_file::back_up(int folder, bool secret) const
{
    const std::string name =
        file_.filename().string() + "." + utc_text(std::time(nullptr), "%Y%m%dT%H%M%SZ") + "-" + random_id(2) + ".bak";
    write_beside(folder, name, text_, secret ? own_alone : status_->st_mode);
    return file_.parent_path() / name;
}

std::optional<fs::path> edited_file::replace(const std::string& text, bool secret)
{
    const auto folder = open_folder();
    check_unchanged(folder.get());
    std::optional<fs::path> copy;
    if (status_) copy = back_up(folder.get(), secret);
    const std::string fresh = "." + file_.filename().string() + "." + random_id(4) + ".new";
    write_beside(folder.get(), fresh, text, secret ? own_alone : status_ ? status_->st_mode : 0644);
    if (::renameat(folder.get(), fresh.c_str(), folder.get(), file_.filename().c_str()) != 0) {
        const std::string reason = std::strerror(errno);
        ::unlinkat(folder.get(), fresh.c_str(), 0);
        throw trouble(file_, "cannot be replaced: " + reason);
    }
    return copy;
}

}  // namespace cmcp::connect
