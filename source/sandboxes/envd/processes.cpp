#include "envd/processes.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

extern char** environ;

namespace cmcp::envd {

namespace {

using namespace std::chrono_literals;
using asio::posix::stream_descriptor;

constexpr std::size_t most_waiting = 1 << 20;  // bytes for a peer that reads slowly
constexpr auto usual_ping = 90s;
constexpr std::uint64_t longest_wish = 1'000'000'000;  // of a number in a field
constexpr auto patience_with_heirs = 2s;               // of a program's output, when the program has ended
constexpr auto patience_with_kill = 5s;

struct pipe_ends {
    int read = -1, write = -1;
    pipe_ends()
    {
        int both[2];
        if (::pipe2(both, O_CLOEXEC) != 0) throw refusal_of(errno, "pipe");
        read = both[0];
        write = both[1];
    }
};

winsize size_of(const json::object& pty)
{
    const auto& size = object(pty, "size");
    const auto side = [&](const char* name, int usual) {
        return static_cast<unsigned short>(std::clamp<std::int64_t>(number(size, name, usual), 1, 10'000));
    };
    return {side("rows", 24), side("cols", 80), 0, 0};
}

std::vector<std::string> environment_of(const json::object& wanted, const account& by, bool terminal)
{
    std::map<std::string, std::string> all;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view one(*each);
        const auto equals = std::min(one.find('='), one.size() - 1);
        all[std::string(one.substr(0, equals))] = one.substr(equals + 1);
    }
    all["HOME"] = by.home;
    all["USER"] = all["LOGNAME"] = by.name;
    if (terminal) all.try_emplace("TERM", "xterm-256color");
    for (const auto& [name, value] : wanted)
        if (value.is_string()) all[name] = value.get_string();
    std::vector<std::string> lines;
    for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
    return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> all;
    for (auto& each : texts) all.push_back(each.data());
    all.push_back(nullptr);
    return all;
}

// Everything that the child needs, made before fork().
struct child_plan {
    std::vector<char*> arguments, environment;
    std::string folder;
    account by;
    int streams[3] = {-1, -1, -1};
    bool terminal = false;
    int report = -1;  // of what failed
};

[[noreturn]] void become(const child_plan& plan)
{
    const auto fail = [&plan] {
        const int why = errno;
        [[maybe_unused]] const auto size = ::write(plan.report, &why, sizeof why);
        ::_exit(127);
    };
    ::setsid();
    if (plan.terminal) ::ioctl(plan.streams[0], TIOCSCTTY, 0);
    for (int at = 0; at < 3; ++at)
        if (::dup2(plan.streams[at], at) < 0) fail();
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.by.changes &&
        (::setgroups(1, &plan.by.gid) != 0 || ::setgid(plan.by.gid) != 0 || ::setuid(plan.by.uid) != 0))
        fail();
    if (::chdir(plan.folder.c_str()) != 0) fail();
    environ = const_cast<char**>(plan.environment.data());
    ::execvp(plan.arguments[0], const_cast<char**>(plan.arguments.data()));
    fail();
    ::_exit(127);
}

// Returns once the program runs, or throws refusal. `of_child` are closed here.
int fork_into(child_plan& plan, const std::vector<int>& of_child)
{
    const pipe_ends report;
    plan.report = report.write;
    const int pid = ::fork();
    const int refused = errno;
    if (pid == 0) become(plan);
    for (const int each : of_child) ::close(each);
    ::close(report.write);
    int why = 0;
    const bool failed = pid > 0 && ::read(report.read, &why, sizeof why) == sizeof why;
    ::close(report.read);
    if (pid < 0) throw refusal("resource_exhausted", std::string("fork: ") + std::strerror(refused));
    if (!failed) return pid;
    ::waitpid(pid, nullptr, 0);
    throw refusal(why == ENOENT ? "not_found" : "invalid_argument",
                  "error starting process: " + std::string(plan.arguments[0]) + ": " + std::strerror(why));
}

// A stream of another process, with its place in a file and its flags.
int stream_of(int pidfd, int number)
{
    const auto copy = static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, number, 0));
    if (copy < 0) throw refusal_of(errno, "the streams of sudo");
    return copy;
}

// As Go's os/exec says it, which E2B's clients show.
json::object end_of(int status)
{
    json::object end;
    if (WIFEXITED(status)) {
        end["exitCode"] = WEXITSTATUS(status);
        end["exited"] = true;
        end["status"] = "exit status " + std::to_string(WEXITSTATUS(status));
    } else {
        std::string name = ::strsignal(WTERMSIG(status));
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        end["exitCode"] = -1;
        end["exited"] = false;
        end["status"] = "signal: " + name;
    }
    if (status != 0) end["error"] = end["status"];
    return end;
}

std::shared_ptr<const std::string> event_text(std::string_view kind, json::object content)
{
    json::object event;
    event[kind] = std::move(content);
    json::object message;
    message["event"] = std::move(event);
    return std::make_shared<const std::string>(json::serialize(message));
}

}  // namespace

struct processes::process {
    explicit process(asio::any_io_executor executor)
        : input(executor), out(executor), err(executor), changed(executor), written(executor)
    {
    }

    void publish(std::shared_ptr<const std::string> message)
    {
        for (const auto& each : readers) {
            each->messages.push_back(message);
            each->bytes += message->size();
            each->changed.raise();
        }
    }
    bool held_back()
    {
        std::erase_if(readers, [](const auto& each) { return each->over; });
        return std::ranges::any_of(readers, [](const auto& each) { return each->bytes > most_waiting; });
    }

    int pid = 0;
    json::object config;
    std::optional<std::string> tag;
    bool terminal = false;
    bool takes_input = false;
    stream_descriptor input, out, err;  // with a terminal `input` is its master, which `out` is, too
    std::vector<std::shared_ptr<subscription>> readers;
    int pumps = 0;
    std::optional<int> status;
    bool killed = false;
    signal changed;  // a pump has ended, the status is there, or a reader has read
    signal written;
    bool writing = false;
};

std::string framed(std::string_view message, char flags)
{
    std::string frame(1, flags);
    for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(message.size() >> shift & 0xff);
    return frame.append(message);
}

connection::fields stream_fields() { return {{"Content-Type", "application/connect+json"}}; }

awaitable<> send_stream(connection& to, std::shared_ptr<subscription> from, json::value first, json::value keepalive)
{
    std::chrono::seconds ping = usual_ping;
    if (const auto wanted = number_in(to.header("Keepalive-Ping-Interval"), longest_wish); wanted > 0)
        ping = std::chrono::seconds(wanted);
    struct leave {
        subscription& reader;
        ~leave()
        {
            reader.over = true;
            reader.changed.raise();
        }
    } const at_the_end{*from};
    co_await to.begin(200, stream_fields());
    co_await to.write(framed(json::serialize(first)));
    to.watch([from] {
        from->gone = true;
        from->changed.raise();
    });
    while (!from->gone && (!from->over || !from->messages.empty())) {
        if (from->messages.empty()) {
            const bool woken = co_await from->changed.wait(ping);
            if (!woken) co_await to.write(framed(json::serialize(keepalive)));
            continue;
        }
        const auto message = std::move(from->messages.front());
        from->messages.pop_front();
        from->bytes -= message->size();
        from->changed.raise();
        co_await to.write(framed(*message));
    }
    co_await to.unwatch();
    if (from->gone) co_return;
    json::object last;
    if (from->late) last["error"] = {{"code", "deadline_exceeded"}, {"message", "context deadline exceeded"}};
    co_await to.write(framed(json::serialize(last), 2));
    co_await to.end();
}

processes::processes(asio::any_io_executor executor) : executor_(executor), children_(executor, SIGCHLD)
{
    await_child();
}

void processes::await_child()
{
    children_.async_wait([this](const boost::system::error_code& stopped, int) {
        if (stopped) return;
        reap();
        await_child();
    });
}

void processes::reap()
{
    for (const auto& [pid, one] : all_) {
        int status = 0;
        if (one->status || ::waitpid(pid, &status, WNOHANG) != pid) continue;
        one->status = status;
        one->changed.raise();
    }
}

processes::process_ptr processes::find(const json::object& wish) const
{
    const auto& which = object(wish, "process");
    const auto known = all_.find(static_cast<int>(number(which, "pid")));
    if (which.contains("pid") && known != all_.end() && !known->second->status) return known->second;
    if (which.contains("tag"))
        for (const auto& [pid, one] : all_)
            if (one->tag == text(which, "tag") && !one->status) return one;
    throw refusal("not_found", "process with selector " + json::serialize(which) + " not found");
}

processes::process_ptr processes::launch(const json::object& wish, const account& by)
{
    const auto& config = object(wish, "process");
    auto one = std::make_shared<process>(executor_);
    one->config = config;
    if (wish.contains("tag")) one->tag = text(wish, "tag");
    one->terminal = wish.contains("pty");
    one->takes_input = one->terminal || flag(wish, "stdin", true);

    std::vector<std::string> arguments{text(config, "cmd")};
    if (const auto* more = config.if_contains("args"); more != nullptr && more->is_array())
        for (const auto& each : more->get_array())
            if (each.is_string()) arguments.emplace_back(each.get_string());
    auto environment = environment_of(object(config, "envs"), by, one->terminal);
    child_plan plan;
    plan.arguments = pointers_to(arguments);
    plan.environment = pointers_to(environment);
    const char* usual_folder = std::getenv(variable_of_folder);
    const auto wanted = text(config, "cwd");
    plan.folder = resolved(wanted.empty() && usual_folder != nullptr ? usual_folder : wanted, by);
    plan.by = by;
    plan.terminal = one->terminal;
    struct ::stat about;
    if (::stat(plan.folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
        throw refusal("invalid_argument", "cwd '" + plan.folder + "' does not exist");

    std::vector<int> of_child;
    if (one->terminal) {
        const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        char name[64];
        if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0 ||
            ::ptsname_r(master, name, sizeof name) != 0)
            throw refusal_of(errno, "terminal");
        one->input.assign(master);
        one->out.assign(::fcntl(master, F_DUPFD_CLOEXEC, 0));
        const auto size = size_of(object(wish, "pty"));
        ::ioctl(master, TIOCSWINSZ, &size);
        of_child.push_back(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
        std::ranges::fill(plan.streams, of_child.back());
    } else {
        const pipe_ends out, err;
        one->out.assign(out.read);
        one->err.assign(err.read);
        of_child = {out.write, err.write, ::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        if (one->takes_input) {
            const pipe_ends in;
            one->input.assign(in.write);
            of_child.push_back(in.read);
        }
        plan.streams[0] = of_child.back();
        plan.streams[1] = out.write;
        plan.streams[2] = err.write;
    }
    one->pid = fork_into(plan, of_child);
    all_[one->pid] = one;
    return one;
}

awaitable<> processes::pump(process_ptr one, stream_descriptor& from, std::string name)
{
    std::array<char, 32 * 1024> bytes{};
    for (;;) {
        auto [failed, size] = co_await from.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
        if (failed) break;
        json::object data;
        data[name] = base64_text({bytes.data(), size});
        one->publish(event_text("data", std::move(data)));
        while (one->held_back()) {
            // A reader wakes this when it reads or leaves.
            const auto slowest =
                std::ranges::max_element(one->readers, {}, [](const auto& each) { return each->bytes; });
            const auto reader = *slowest;
            co_await reader->changed.wait();
        }
    }
    --one->pumps;
    one->changed.raise();
}

// Programs that a program leaves behind may go on with its output, which is waited for a while.
awaitable<> processes::look_after(process_ptr one)
{
    const auto spawn = [&](stream_descriptor& from, const char* name) {
        ++one->pumps;
        asio::co_spawn(executor_, pump(one, from, name), asio::detached);
    };
    spawn(one->out, one->terminal ? "pty" : "stdout");
    if (!one->terminal) spawn(one->err, "stderr");
    while (!one->status) co_await one->changed.wait();
    bool waits = true;
    while (waits && one->pumps > 0) waits = co_await one->changed.wait(patience_with_heirs);
    boost::system::error_code ignored;
    one->out.close(ignored);
    one->err.close(ignored);
    one->input.close(ignored);
    while (one->pumps > 0) co_await one->changed.wait();
    json::object end;
    end = end_of(*one->status);
    one->publish(event_text("end", std::move(end)));
    for (const auto& each : one->readers) {
        each->over = true;
        each->changed.raise();
    }
    all_.erase(one->pid);
}

// Who began it hears of the time, and not of the signal.
awaitable<> processes::kill_in_time(process_ptr one, std::shared_ptr<subscription> reader,
                                    std::chrono::milliseconds limit)
{
    asio::steady_timer end(executor_, limit);
    co_await end.async_wait(asio::use_awaitable);
    if (one->status) co_return;
    std::erase(one->readers, reader);
    reader->late = reader->over = true;
    reader->changed.raise();
    ::kill(-one->pid, SIGKILL);
}

awaitable<> processes::start(connection& by, json::object wish)
{
    const auto user = by.user();
    auto one = launch(wish, user);
    auto reader = std::make_shared<subscription>(executor_);
    one->readers.push_back(reader);
    // Connect-Timeout-Ms bounds the program, not only the answer.
    if (const auto limit = number_in(by.header("Connect-Timeout-Ms"), longest_wish); limit > 0)
        asio::co_spawn(executor_, kill_in_time(one, reader, std::chrono::milliseconds(limit)), asio::detached);
    asio::co_spawn(executor_, look_after(one), asio::detached);
    reap();  // it may have ended before it was known here
    json::value first{{"event", {{"start", {{"pid", one->pid}}}}}};
    json::value keepalive{{"event", {{"keepalive", json::object()}}}};
    co_await send_stream(by, std::move(reader), std::move(first), std::move(keepalive));
}

awaitable<> processes::connect(connection& by, const json::object& wish)
{
    auto one = find(wish);
    auto reader = std::make_shared<subscription>(executor_);
    one->readers.push_back(reader);
    json::value first{{"event", {{"start", {{"pid", one->pid}}}}}};
    json::value keepalive{{"event", {{"keepalive", json::object()}}}};
    co_await send_stream(by, std::move(reader), std::move(first), std::move(keepalive));
}

json::object processes::list() const
{
    json::array rows;
    for (const auto& [pid, one] : all_) {
        if (one->status) continue;
        json::object row{{"pid", pid}, {"config", one->config}};
        if (one->tag) row["tag"] = *one->tag;
        rows.push_back(std::move(row));
    }
    return {{"processes", std::move(rows)}};
}

awaitable<json::object> processes::send_input(json::object wish)
{
    const auto one = find(wish);
    const auto& input = object(wish, "input");
    if (input.contains("pty") != one->terminal || !one->takes_input || !one->input.is_open())
        throw refusal("failed_precondition", one->terminal ? "the process has a terminal: send its input as pty"
                                                           : "stdin is not open, or the process has no terminal");
    const auto bytes = base64_bytes(text(input, one->terminal ? "pty" : "stdin"));
    while (one->writing) co_await one->written.wait();
    one->writing = true;
    auto [failed, size] =
        co_await asio::async_write(one->input, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
    one->writing = false;
    one->written.raise();
    if (failed) throw refusal("internal", "error writing to stdin: " + failed.message());
    co_return json::object();
}

awaitable<json::object> processes::send_signal(json::object wish)
{
    const auto one = find(wish);
    const auto* named = wish.if_contains("signal");
    int wanted = 0;
    if (named != nullptr && named->is_string())
        wanted = named->get_string() == "SIGNAL_SIGKILL"   ? SIGKILL
                 : named->get_string() == "SIGNAL_SIGTERM" ? SIGTERM
                                                           : 0;
    else
        wanted = static_cast<int>(number(wish, "signal"));
    if (wanted != SIGKILL && wanted != SIGTERM)
        throw refusal("invalid_argument", "signal is SIGNAL_SIGTERM or SIGNAL_SIGKILL");
    if (::kill(-one->pid, wanted) != 0) ::kill(one->pid, wanted);
    bool waits = wanted == SIGKILL;
    while (waits && !one->status) waits = co_await one->changed.wait(patience_with_kill);
    co_return json::object();
}

json::object processes::update(const json::object& wish)
{
    const auto one = find(wish);
    if (!wish.contains("pty")) return {};
    if (!one->terminal) throw refusal("failed_precondition", "the process has no terminal");
    const auto size = size_of(object(wish, "pty"));
    ::ioctl(one->input.native_handle(), TIOCSWINSZ, &size);
    return {};
}

json::object processes::close_input(const json::object& wish)
{
    const auto one = find(wish);
    if (one->terminal) throw refusal("failed_precondition", "a terminal's input is ended by Ctrl+D");
    if (!one->takes_input) throw refusal("failed_precondition", "the process has no stdin");
    boost::system::error_code ignored;
    one->input.close(ignored);
    return {};
}

awaitable<> processes::run_as_root(connection& by)
{
    const auto body = co_await by.read_all();
    std::vector<std::string> words;
    for (std::size_t from = 0, to = 0; (to = body.find('\0', from)) != body.npos; from = to + 1)
        words.push_back(body.substr(from, to - from));
    if (::geteuid() != 0 || words.size() < 3)
        throw refusal("failed_precondition", "sudo needs a daemon that is root, a process, a folder and a command");
    const auto one = std::make_shared<process>(executor_);
    one->config = {{"cmd", "sudo"}, {"args", json::array(words.begin() + 2, words.end())}};
    std::vector<std::string> arguments{"sudo"};
    arguments.insert(arguments.end(), words.begin() + 2, words.end());
    child_plan plan;
    plan.by = {"root", "/root", 0, 0, false};
    plan.folder = words[1];
    auto environment = environment_of({}, plan.by, true);
    plan.arguments = pointers_to(arguments);
    plan.environment = pointers_to(environment);
    const int asker = static_cast<int>(::syscall(SYS_pidfd_open, number_in(words[0], longest_wish), 0));
    if (asker < 0) throw refusal_of(errno, "the process of sudo");
    std::vector<int> of_child{asker};
    for (int number = 0; number < 3; ++number) of_child.push_back(plan.streams[number] = stream_of(asker, number));
    one->pid = fork_into(plan, of_child);
    all_[one->pid] = one;
    reap();  // it may have ended before it was known here
    by.watch([pid = one->pid] { ::kill(-pid, SIGTERM); });
    while (!one->status) co_await one->changed.wait();
    co_await by.unwatch();
    all_.erase(one->pid);
    const int status = *one->status, code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    auto line = std::to_string(code) + "\n";
    co_await by.reply(200, std::move(line));
}

}  // namespace cmcp::envd
