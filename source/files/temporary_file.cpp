#include "files/temporary_file.hpp"

#include <fcntl.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cmcp {

namespace {

[[noreturn]] void fail_temporary() { throw std::system_error(errno, std::generic_category()); }

std::string hidden_name()
{
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) fail_temporary();
    return ".cmcp-" + std::to_string(random) + ".tmp";
}

}  // namespace

temporary_file::~temporary_file()
{
    if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
}

void temporary_file::fill(const file_root& root, std::string_view content, mode_t mode)
{
    content_ = content;
    mode_ = mode;
    file_.reset(::openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file_) open_named();
    write(root);
    if (!name_.empty() || give_name()) return;
    open_named();  // no /proc here to name it by
    write(root);
}

void temporary_file::open_named()
{
    std::string name = hidden_name();
    file_.reset(::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file_) fail_temporary();
    name_ = std::move(name);
}

bool temporary_file::give_name()
{
    std::string name = hidden_name();
    const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
    if (::linkat(AT_FDCWD, self.c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
    name_ = std::move(name);
    return true;
}

void temporary_file::write(const file_root& root)
{
    std::string_view rest = content_;
    while (!rest.empty()) {
        const auto written = ::write(file_.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_temporary();
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    root.adopt(file_.get());
    if (::fchmod(file_.get(), mode_) != 0) fail_temporary();
}

void temporary_file::publish(const std::string& name)
{
    if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) fail_temporary();
    name_.clear();
}

}  // namespace cmcp
