#include "async/stop_signals.hpp"

#include "log/log.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

constexpr auto never = std::chrono::hours(24);

/// A process that obeys stop signals, and is killed at the end of the test if it still runs.
class stoppable {
public:
    /// `run` works in the process and calls its argument when signals may come; what it returns is the exit code.
    explicit stoppable(const std::function<int(const std::function<void()>& ready)>& run)
    {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        process_ = ::fork();
        if (process_ == 0) {
            log::configure({.threshold = log::level::info, .json_lines = true, .file = log_file_});
            const auto ready = [&] { [[maybe_unused]] const auto sent = ::write(ends[1], "r", 1); };
            std::_Exit(run(ready));
        }
        ::close(ends[1]);
        char byte = 0;
        const auto got = ::read(ends[0], &byte, 1);
        ::close(ends[0]);
        REQUIRE(got == 1);
    }
    stoppable(const stoppable&) = delete;
    stoppable& operator=(const stoppable&) = delete;
    ~stoppable()
    {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }

    void signal(int number) const { REQUIRE(::kill(process_, number) == 0); }

    /// The exit code; -1: a signal has killed it.
    int ended()
    {
        int status = 0;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    std::string log() const
    {
        std::ifstream in(log_file_);
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    test::temporary_folder folder_;
    std::string log_file_ = (folder_.path / "log").string();
    pid_t process_ = 0;
};

void hold_for_ever()
{
    for (;;) ::pause();
}

stop_signals::limits soon() { return {200ms, never}; }

// A process whose loop a handler holds.
template <class Ready>
int hold_a_loop(const Ready& ready, stop_signals::limits limits)
{
    stop_signals signals(limits);
    asio::io_context io(1);
    const stop_signals::loop here(signals, io.get_executor());
    asio::post(io, [&] {
        ready();
        hold_for_ever();
    });
    io.run();
    return 0;
}

}  // namespace

TEST_CASE("the first signal asks the loop to stop, and the process ends by itself")
{
    stoppable one([](const auto& ready) {
        stop_signals signals(stop_signals::limits{never, never});
        asio::io_context io(1);
        const stop_signals::loop here(signals, io.get_executor());
        auto work = asio::make_work_guard(io);
        signals.on_first([&] { work.reset(); });
        ready();
        io.run();
        return 7;
    });
    const int number = GENERATE(SIGTERM, SIGINT);
    one.signal(number);
    CHECK(one.ended() == 7);
    CHECK(one.log().find(R"("stopping")") != std::string::npos);
}

TEST_CASE("a signal that comes before the loop is not lost")
{
    stoppable one([](const auto& ready) {
        stop_signals signals(stop_signals::limits{never, never});
        std::raise(SIGTERM);
        asio::io_context io(1);
        const stop_signals::loop here(signals, io.get_executor());
        auto work = asio::make_work_guard(io);
        signals.on_first([&] { work.reset(); });
        ready();
        io.run();
        return 8;
    });
    CHECK(one.ended() == 8);
}

TEST_CASE("a stop ends within its limit while a handler holds the loop, and the log says so")
{
    stoppable one([](const auto& ready) { return hold_a_loop(ready, soon()); });
    one.signal(SIGTERM);
    CHECK(one.ended() == 128 + SIGTERM);
    CHECK(one.log().find(R"("stop_gave_up")") != std::string::npos);
    CHECK(one.log().find("does not answer") != std::string::npos);
}

TEST_CASE("a second signal ends the process at once while a handler holds the loop")
{
    stoppable one([](const auto& ready) { return hold_a_loop(ready, {never, never}); });
    one.signal(SIGTERM);
    one.signal(SIGINT);  // another one, so that the kernel does not make one of both
    CHECK(one.ended() > 128);
    CHECK(one.log().find(R"("stopped_at_once")") != std::string::npos);
}

TEST_CASE("a loop that answers has the whole time, whatever it waits for")
{
    stoppable one([](const auto& ready) {
        stop_signals signals(stop_signals::limits{1ms, 500ms});
        asio::io_context io(1);
        const stop_signals::loop here(signals, io.get_executor());
        auto work = asio::make_work_guard(io);
        signals.on_first([&] { signals.waits_for("a call without an end"); });
        ready();
        io.run();
        return 0;
    });
    one.signal(SIGTERM);
    CHECK(one.ended() == 128 + SIGTERM);
    CHECK(one.log().find("a call without an end") != std::string::npos);
    CHECK(one.log().find("does not answer") == std::string::npos);
}

TEST_CASE("a thread without an end does not keep a process that stops")
{
    stoppable one([](const auto& ready) {
        stop_signals signals(stop_signals::limits{1ms, 200ms});
        std::thread thread(hold_for_ever);
        {
            asio::io_context io(1);
            const stop_signals::loop here(signals, io.get_executor());
            auto work = asio::make_work_guard(io);
            signals.on_first([&] { work.reset(); });
            ready();
            io.run();
        }
        signals.waits_for("a thread");
        thread.join();
        return 0;
    });
    one.signal(SIGTERM);
    CHECK(one.ended() == 128 + SIGTERM);
    CHECK(one.log().find("stop_gave_up") != std::string::npos);
}
