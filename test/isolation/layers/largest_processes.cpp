#include "limits/watchdog.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace cmcp::sandbox::test {
namespace {

constexpr std::size_t megabyte = 1 << 20;

/// A process that has filled `bytes` and waits for its end.
class holder {
public:
    explicit holder(std::size_t bytes)
    {
        int filled[2];
        REQUIRE(::pipe(filled) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            std::vector<char> all(bytes);
            std::memset(all.data(), 7, all.size());
            const bool written = ::write(filled[1], "x", 1) == 1;
            while (written) ::pause();
            ::_exit(1);
        }
        ::close(filled[1]);
        char byte = 0;
        REQUIRE(::read(filled[0], &byte, 1) == 1);
        ::close(filled[0]);
    }
    ~holder() { end(); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

    pid_t pid() const { return pid_; }

    void end()
    {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

    bool was_killed()
    {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid_;
    }

    void wait_for_end() const
    {
        siginfo_t info{};
        REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0);
    }

private:
    pid_t pid_ = 0;
};

/// A meter that sees these processes alone, by a folder that shows theirs of /proc.
struct few_processes {
    cmcp::test::temporary_folder folder;

    usage_meter meter(const std::vector<const holder*>& all) const
    {
        for (const holder* each : all) {
            const std::string name = std::to_string(each->pid());
            std::filesystem::create_directory_symlink("/proc/" + name, folder.path / name);
        }
        usage_sources sources;
        sources.processes.reset(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        return usage_meter(std::move(sources));
    }
};

}  // namespace

TEST_CASE("of processes above the limit the largest is ended alone")
{
    holder large(96 * megabyte), small(24 * megabyte);
    const few_processes two;
    usage_meter meter = two.meter({&large, &small});
    const auto all = meter.measure(1).memory;
    CHECK_FALSE(meter.end_largest(2 * all));
    CHECK_FALSE(large.was_killed());
    const auto own = meter.measure(all - 40 * megabyte).memory;  // without what they share with this process
    REQUIRE(meter.end_largest(own - 40 * megabyte));
    large.wait_for_end();
    CHECK_FALSE(small.was_killed());
}

TEST_CASE("once the largest process has ended, none is ended in its place")
{
    holder large(96 * megabyte), small(24 * megabyte);
    const few_processes two;
    usage_meter meter = two.meter({&large, &small});
    const auto both = meter.measure(1).memory;
    large.end();
    CHECK_FALSE(meter.end_largest(both - 40 * megabyte));
    CHECK_FALSE(small.was_killed());
}

}  // namespace cmcp::sandbox::test
