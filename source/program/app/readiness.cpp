#include "app/readiness.hpp"

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "log/log.hpp"
#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace cmcp {

namespace {

namespace fs = std::filesystem;
using readiness_clock = std::chrono::steady_clock;

constexpr std::chrono::seconds answer_lasts(2);
constexpr std::chrono::seconds longest_look(2);
constexpr std::uint64_t least_free_bytes = 16u << 20;
constexpr std::uint64_t least_free_share = 20;  // of a small disk: a twentieth
constexpr std::uint64_t least_free_files = 64;
constexpr const char* disk_is_silent =
    "The disk of SANDBOX_ROOT does not answer: see whether it hangs (dmesg), or set SANDBOX_ROOT to another one.";

std::string errno_text() { return std::strerror(errno); }

std::string disk_too_full(const struct statvfs& disk, const std::string& name)
{
    const std::uint64_t free = disk.f_bavail * disk.f_frsize;
    const std::uint64_t least = std::min(least_free_bytes, disk.f_blocks * disk.f_frsize / least_free_share);
    if (free < least)
        return "The disk of " + name + " is full (" + std::to_string(free >> 10) +
               " KiB left): delete files or sandboxes there, or give it more room.";
    if (disk.f_files != 0 && disk.f_favail < least_free_files)
        return "The disk of " + name + " has no room for more files (" + std::to_string(disk.f_favail) +
               " inodes left): delete files or sandboxes there.";
    return {};
}

// A file without a name leaves nothing behind and is seen by nobody. File systems that have none are not written to.
std::string disk_refuses(const fs::path& folder, const std::string& name)
{
    constexpr std::array<char, 4096> page{};
    const unique_fd file(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) return {};
    if (file && ::write(file.get(), page.data(), page.size()) == static_cast<ssize_t>(page.size())) return {};
    return name + " cannot be written (" + errno_text() + "): make it writable for the server and see to its disk.";
}

std::string disk_problem(const fs::path& folder, const std::string& name)
{
    struct statvfs disk {};
    if (::statvfs(folder.c_str(), &disk) != 0)
        return name + " is not there (" + errno_text() + "): mount it again, or start the server anew.";
    auto problem = disk_too_full(disk, name);
    return problem.empty() ? disk_refuses(folder, name) : problem;
}

// Workspaces and sandboxes may lie on disks of their own.
std::vector<std::string> disk_problems(const fs::path& root)
{
    std::vector<std::string> all;
    std::set<dev_t> seen;
    for (const char* below : {"", "workspace", "callers", "sandboxes"}) {
        const auto folder = *below == '\0' ? root : root / below;
        struct stat status {};
        const bool there = ::stat(folder.c_str(), &status) == 0;
        if ((!there && *below != '\0') || (there && !seen.insert(status.st_dev).second)) continue;
        auto problem = disk_problem(folder, *below == '\0' ? "SANDBOX_ROOT" : std::string("SANDBOX_ROOT/") + below);
        if (!problem.empty()) all.push_back(std::move(problem));
    }
    return all;
}

bool can_execute(const std::string& program) { return ::access(program.c_str(), X_OK) == 0; }

}  // namespace

struct readiness::state {
    state(const settings& config, asio::any_io_executor executor, own_check check)
        : root(fs::absolute(config.sandbox_root)),
          interpreter(config.python_interpreter),
          own(std::move(check)),
          looks(executor)
    {
        // An interpreter that exists only inside of the sandbox cannot be judged from here.
        if (!can_execute(interpreter)) interpreter.clear();
    }

    bool fresh() const { return readiness_clock::now() - looked_at < answer_lasts; }

    void take(std::vector<std::string> now)
    {
        if (now != known) {
            if (now.empty())
                log::info("ready");
            else
                log::warning("unready", {{"reasons", json::array(now.begin(), now.end())}});
        }
        known = std::move(now);
    }

    const fs::path root;
    std::string interpreter;
    own_check own;
    std::vector<std::string> of_disk;  // as of the last look
    std::vector<std::string> known;    // with the server's own, as was told last
    readiness_clock::time_point looked_at{};
    bool looking = false;
    event changed;
    std::optional<blocking_pool> thread;  // once somebody has asked
    task_group looks;

    static awaitable<> look(std::shared_ptr<state> self);
    static awaitable<> look_in_time(std::shared_ptr<state> self);
};

awaitable<> readiness::state::look(std::shared_ptr<state> self)
{
    struct at_end {
        state& of;
        ~at_end()
        {
            of.looking = false;
            of.changed.notify();
        }
    } tells{*self};
    auto work = [root = self->root, interpreter = self->interpreter] {
        auto all = disk_problems(root);
        if (!interpreter.empty() && !can_execute(interpreter))
            all.push_back("PYTHON_INTERPRETER is gone: install Python again, or set it to an interpreter that exists.");
        return all;
    };
    self->of_disk = co_await self->thread->run(blocking_pool::server, std::move(work));
    self->looked_at = readiness_clock::now();
}

awaitable<> readiness::state::look_in_time(std::shared_ptr<state> self)
{
    if (!self->thread) self->thread.emplace(1);
    if (!std::exchange(self->looking, true)) self->looks.spawn("readiness", look(self));
    const auto until = readiness_clock::now() + longest_look;
    while (self->looking && readiness_clock::now() < until) co_await self->changed.wait(until);
    if (self->looking) self->of_disk = {disk_is_silent};
}

readiness::readiness(const settings& config, asio::any_io_executor executor, own_check own)
    : state_(std::make_shared<state>(config, std::move(executor), std::move(own)))
{
}

readiness::~readiness()
{
    state_->own = {};  // a look that is under way may end later
    state_->looks.cancel_all();
}

awaitable<std::vector<std::string>> readiness::problems()
{
    const auto self = state_;
    if (!self->fresh()) co_await state::look_in_time(self);
    auto all = self->of_disk;
    for (auto& trouble : self->own ? self->own() : std::vector<std::string>()) all.push_back(std::move(trouble));
    self->take(std::move(all));
    co_return self->known;
}

}  // namespace cmcp
