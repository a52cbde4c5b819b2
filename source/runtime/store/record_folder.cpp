#include "store/record_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

std::filesystem::path made_private(std::filesystem::path folder)
{
    std::filesystem::create_directories(folder);
    ::chmod(folder.c_str(), 0700);
    return folder;
}

unique_fd open_lock(const std::filesystem::path& folder)
{
    unique_fd lock(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock) throw std::system_error(errno, std::generic_category(), (folder / ".lock").string());
    return lock;
}

// A process that reconciles holds the lock alone; the others wait the moment that this takes.
bool take_lock(int lock)
{
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
    ::flock(lock, LOCK_SH);
    return false;
}

}  // namespace

record_folder::record_folder(std::filesystem::path path)
    : path_(made_private(std::move(path))), lock_(open_lock(path_)), alone_(take_lock(lock_.get()))
{
}

void record_folder::share()
{
    if (alone_) ::flock(lock_.get(), LOCK_SH);
    alone_ = false;
}

}  // namespace cmcp
