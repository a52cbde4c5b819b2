#include "test/execution/sandbox/run_support.hpp"

#include "async/task_group.hpp"
#include "facilities/process_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fstream>

namespace cmcp::sandbox::test {
namespace {

namespace fs = std::filesystem;

/// The number of processes of the machine with `text` in their command line.
int processes_with(const std::string& text)
{
    int count = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
        const std::string line = read_text(AT_FDCWD, entry.path() / "cmdline");
        if (line.find(text) != std::string::npos && entry.path().filename() != std::to_string(::getpid())) ++count;
    }
    return count;
}

std::string marker(const char* name) { return "9" + std::to_string(::getpid()) + std::string(name); }

/// Fires an event when the first output comes.
class first_output final : public output_receiver {
public:
    explicit first_output(asio::io_context& io) : seen(io) { seen.expires_at(asio::steady_timer::time_point::max()); }
    awaitable<> receive(stream, std::string_view) override
    {
        seen.cancel();
        co_return;
    }
    asio::steady_timer seen;
};

/// Takes output more slowly than a run writes it, and counts the bytes that come between two turns of the rest of the
/// loop.
class slow_output final : public output_receiver {
public:
    explicit slow_output(asio::io_context& io) : io_(io) { turn(); }
    awaitable<> receive(stream, std::string_view bytes) override
    {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (std::chrono::steady_clock::now() < until) continue;
        since_ += bytes.size();
        most = std::max(most, since_);
        total += bytes.size();
        co_return;
    }
    void end() { over_ = true; }

    std::size_t most = 0, total = 0;

private:
    void turn()
    {
        asio::post(io_, [this] {
            since_ = 0;
            if (!over_) turn();
        });
    }

    asio::io_context& io_;
    std::size_t since_ = 0;
    bool over_ = false;
};

awaitable<> run_and_note(native_backend& backend, run_request request, output_receiver& output, std::string& how)
{
    try {
        const auto result = co_await backend.run(std::move(request), output);
        how = std::string(to_string(result.why)) + ": " + result.error;
    } catch (const boost::system::system_error& error) {
        how = error.code() == asio::error::operation_aborted ? "aborted" : error.what();
    }
}

awaitable<> wait_for(asio::steady_timer& event) { co_await event.async_wait(as_tuple); }

void kill_and_wait(int process)
{
    const unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    REQUIRE(::kill(process, SIGKILL) == 0);
    pollfd wait{pidfd.get(), POLLIN, 0};
    REQUIRE(::poll(&wait, 1, 5000) == 1);
}

std::size_t open_descriptors()
{
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("cancelling a run ends its whole tree before the coroutine returns", "[run][measured]")
{
    stage s;
    first_output output(s.io);
    std::string how;
    task_group group(s.io.get_executor());
    const std::string mark = marker("1");
    group.spawn("run",
                run_and_note(s.backend, s.bash("(setsid sleep " + mark + " &) ; echo go; sleep " + mark), output, how));
    cmcp::test::run_coroutine(s.io, wait_for(output.seen));
    CHECK(processes_with(mark) > 0);
    group.cancel_all();
    CHECK(cmcp::test::run_coroutine(s.io, group.wait_idle(std::chrono::seconds(10))));
    CHECK(how == "aborted");
    CHECK(processes_with(mark) == 0);
}

TEST_CASE("a run that floods its output leaves turns to others", "[run]")
{
    stage s;
    slow_output output(s.io);
    std::string how;
    auto request = s.bash("head -c 8000000 /dev/zero");
    request.limits.output = 16'000'000;
    cmcp::test::run_coroutine(s.io, run_and_note(s.backend, std::move(request), output, how), std::chrono::seconds(60));
    output.end();
    s.io.poll();
    CHECK(output.total == 8'000'000);
    CHECK(output.most <= 192 * 1024);
}

TEST_CASE("a process left in the background is gone when the run returns", "[run][measured]")
{
    stage s;
    const std::string mark = marker("2");
    const auto result = s.run(s.bash("setsid nohup sleep " + mark + " & disown; echo done"));
    CHECK(s.output.out == "done\n");
    CHECK(result.exit_code == 0);
    CHECK(result.wall < std::chrono::seconds(5));
    CHECK(processes_with(mark) == 0);
}

TEST_CASE("a run that closes its output goes on to its end", "[run]")
{
    stage s;
    const auto result = s.run(s.bash("exec >&- 2>&-; echo x > file; exit 3"));
    CHECK(result.exit_code == 3);
    CHECK(fs::exists(s.workspace.path + "/file"));
}

TEST_CASE("a program that does not exist is a failed set-up with a sentence", "[run]")
{
    stage s;
    capture output;
    const auto result = cmcp::test::run_coroutine(s.io, s.backend.run(s.request({"/usr/bin/no-such-program"}), output));
    CHECK(result.why == cause::setup_failed);
    CHECK(result.error.find("/usr/bin/no-such-program") != std::string::npos);
    CHECK(result.error.find("does not exist inside the sandbox") != std::string::npos);
}

TEST_CASE("a missing workspace or working folder is a failed set-up with a sentence", "[run]")
{
    stage s;
    capture output;
    auto wanted = s.bash("true");
    wanted.workspace = s.workspace.path + "/absent";
    auto result = cmcp::test::run_coroutine(s.io, s.backend.run(std::move(wanted), output));
    CHECK(result.why == cause::setup_failed);
    CHECK(result.error.find("does not exist: create it") != std::string::npos);
    auto elsewhere = s.bash("true");
    elsewhere.working_dir = "/absent";
    result = cmcp::test::run_coroutine(s.io, s.backend.run(std::move(elsewhere), output));
    CHECK(result.why == cause::setup_failed);
    CHECK(result.error.find("working folder /absent") != std::string::npos);
}

TEST_CASE("when the launcher dies its runs fail with a sentence and the next run works", "[run][measured]")
{
    stage s;
    first_output output(s.io);
    std::string how;
    task_group group(s.io.get_executor());
    const std::string mark = marker("3");
    group.spawn("run", run_and_note(s.backend, s.bash("echo go; sleep " + mark), output, how));
    cmcp::test::run_coroutine(s.io, wait_for(output.seen));
    REQUIRE(s.backend.launcher_pid() > 0);  // kill(-1) would end the machine
    REQUIRE(::kill(s.backend.launcher_pid(), SIGKILL) == 0);
    CHECK(cmcp::test::run_coroutine(s.io, group.wait_idle(std::chrono::seconds(10))));
    CHECK(how.starts_with("lost: The sandbox launcher ended unexpectedly (signal 9)"));
    CHECK(s.run(s.bash("echo again")).exit_code == 0);
    CHECK(s.output.out == "again\n");
    CHECK(processes_with(mark) == 0);
}

TEST_CASE("a launcher that died while idle is replaced", "[run]")
{
    stage s;
    s.run(s.bash("true"));
    const int first = s.backend.launcher_pid();
    REQUIRE(first > 0);
    kill_and_wait(first);
    CHECK(s.run(s.bash("echo again")).exit_code == 0);
    CHECK(s.backend.launcher_pid() != first);
}

TEST_CASE("a backend ends its launcher and what it runs")
{
    const std::string mark = marker("4");
    std::string how;
    {
        asio::io_context io;
        temporary_workspace workspace;
        auto backend = std::make_unique<native_backend>(io.get_executor(), launcher_under_test());
        first_output output(io);
        run_request wanted;
        wanted.argv = {"/usr/bin/bash", "-c", "echo go; sleep " + mark};
        wanted.workspace = workspace.path;
        task_group group(io.get_executor());
        group.spawn("run", run_and_note(*backend, std::move(wanted), output, how));
        cmcp::test::run_coroutine(io, wait_for(output.seen));
        backend.reset();
        CHECK(cmcp::test::run_coroutine(io, group.wait_idle(std::chrono::seconds(10))));
    }
    CHECK(how.starts_with("lost: The server is shutting down"));
    CHECK(processes_with(mark) == 0);
}

TEST_CASE("an idle backend is no work for the io_context", "[run]")
{
    stage s;
    s.run(s.bash("true"));
    s.io.restart();
    CHECK(s.io.run_for(std::chrono::milliseconds(50)) <= 2);
    CHECK(s.io.stopped());
}

TEST_CASE("many runs at once get their own output and leave nothing open", "[run]")
{
    stage s;
    s.run(s.bash("true"));
    const auto before = open_descriptors();
    std::vector<std::unique_ptr<capture>> outputs;
    std::vector<std::string> ends(24);
    task_group group(s.io.get_executor());
    for (std::size_t i = 0; i < ends.size(); ++i) {
        outputs.push_back(std::make_unique<capture>());
        auto wanted = s.bash("echo " + std::to_string(i));
        group.spawn("run", run_and_note(s.backend, std::move(wanted), *outputs.back(), ends[i]));
    }
    CHECK(cmcp::test::run_coroutine(s.io, group.wait_idle(std::chrono::seconds(20)), std::chrono::seconds(30)));
    for (std::size_t i = 0; i < ends.size(); ++i) {
        CHECK(ends[i] == "exited: ");
        CHECK(outputs[i]->out == std::to_string(i) + "\n");
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("the launcher keeps nothing of the runs that have ended", "[run][measured]")
{
    stage s;
    s.run(s.bash("true"));  // after its first run the launcher has closed its /proc entry to others
    const auto folder = "/proc/" + std::to_string(s.backend.launcher_pid()) + "/fd";
    std::error_code refused;
    if (fs::directory_iterator(folder, refused); refused) return;  // an ordinary user may not look into it
    const auto count = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
    constexpr int few = 20, many = 80;  // the descriptors of the last run are closed shortly after its result
    for (int i = 0; i < few; ++i) s.run(s.bash("true"));
    const auto before = count();
    for (int i = 0; i < many; ++i) s.run(s.bash("true"));
    CHECK(count() < before + many);
}

}  // namespace cmcp::sandbox::test
