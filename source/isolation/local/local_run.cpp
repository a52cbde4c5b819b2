#include "local/local_run.hpp"

#include "facilities/setup_step.hpp"
#include "local/first_process.hpp"
#include "local/network_helper.hpp"
#include "local/run_report.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "wire/packet_socket.hpp"
#include "wire/run_request.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

constexpr int exit_timeout = 124, exit_not_executable = 126, exit_not_found = 127;
constexpr std::array passed_on{SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

std::string variable(const char* name)
{
    const char* text = std::getenv(name);
    return text == nullptr ? "" : text;
}

std::string home_folder()
{
    std::error_code absent;
    const fs::path home = fs::canonical(variable("HOME"), absent);
    return absent || home == "/" ? "" : home.string();
}

local_policy policy_of(const run_words& words, const std::string& home)
{
    local_policy policy;
    if (words.policy_file.empty()) {
        policy = usual_policy(home, variable("PATH"));
    } else {
        const unique_fd file(::open(words.policy_file.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat kind {};
        if (!file || ::fstat(file.get(), &kind) != 0)
            throw bad_policy("The policy " + words.policy_file + " cannot be read: " + std::strerror(errno) + ".");
        if (S_ISDIR(kind.st_mode)) throw bad_policy("The policy " + words.policy_file + " is a folder.");
        policy = read_policy(read_all(file.get()), words.policy_file);
    }
    policy.allowed_hosts.insert(policy.allowed_hosts.end(), words.hosts.begin(), words.hosts.end());
    policy.allow_read.insert(policy.allow_read.end(), words.read.begin(), words.read.end());
    policy.allow_write.insert(policy.allow_write.end(), words.write.begin(), words.write.end());
    return policy;
}

// What is open beside the standard streams does not reach the program. A folder there would be a way around its root.
void check_streams()
{
    constexpr const char* names[] = {"input", "output", "error output"};
    for (const int number : {0, 1, 2}) {
        struct stat kind {};
        if (::fstat(number, &kind) != 0)
            check(::open("/dev/null", O_RDWR), "open /dev/null");
        else if (S_ISDIR(kind.st_mode))
            throw bad_policy(std::string("The standard ") + names[number] +
                             " is a folder, through which the program could leave the sandbox; redirect it.");
    }
}

std::vector<std::string> environment_of(const file_rules& rules, bool has_network)
{
    constexpr std::string_view proxies[] = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY",
                                            "all_proxy",  "ALL_PROXY",   "no_proxy",   "NO_PROXY"};
    // Ways to programs outside, which the sandbox closes.
    constexpr std::string_view sockets[] = {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "GPG_AGENT_INFO"};
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view entry = *each;
        const std::string_view name = entry.substr(0, entry.find('='));
        const bool is_left_out = std::ranges::find(proxies, name) != std::end(proxies) ||
                                 std::ranges::find(sockets, name) != std::end(sockets);
        const bool has_no_folder = name == "TMPDIR" && rules.access(entry.substr(7)) != access_to_files::writable;
        if (has_no_folder)
            all.emplace_back("TMPDIR=/tmp");
        else if (!is_left_out)
            all.emplace_back(entry);
    }
    if (!has_network) return all;
    const std::string proxy = "http://127.0.0.1:" + std::to_string(first_proxy_port);
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
        all.push_back(name + ("=" + proxy));
    for (const char* name : {"no_proxy", "NO_PROXY"}) all.push_back(std::string(name) + "=localhost,127.0.0.1,::1");
    return all;
}

// The program has every signal of a terminal by itself.
bool comes_from_terminal(const signalfd_siginfo& heard)
{
    const bool is_of_terminal = heard.ssi_signo == SIGINT || heard.ssi_signo == SIGQUIT ||
                                heard.ssi_signo == SIGWINCH || heard.ssi_signo == SIGHUP;
    return is_of_terminal && heard.ssi_code == SI_KERNEL;
}

std::string absent_program(const std::vector<std::string>& argv, int error)
{
    return "container-mcp run: " + argv.front() + ": " +
           (error == ENOENT ? "command not found in the sandbox" : std::strerror(error));
}

// Where the program is that the sandbox hides.
std::optional<denial> hidden_program(const std::string& name, const file_rules& rules)
{
    const auto hidden = [&](const std::string& path) -> std::optional<denial> {
        std::error_code absent;
        const std::string real = fs::canonical(path, absent).string();
        if (absent || ::access(real.c_str(), X_OK) != 0 || rules.access(real) != access_to_files::hidden)
            return std::nullopt;
        return denial{denial::kind::read, real};
    };
    if (name.find('/') != std::string::npos) return hidden(name);
    const std::string path = variable("PATH");
    for (std::size_t at = 0; at <= path.size();) {
        const auto end = std::min(path.find(':', at), path.size());
        if (auto program = hidden(path.substr(at, end - at) + "/" + name)) return program;
        at = end + 1;
    }
    return std::nullopt;
}

std::string text_of(const char* path)
{
    const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get()) : "";
}

std::string first_line(const char* path)
{
    const std::string text = text_of(path);
    return text.substr(0, text.find('\n'));
}

std::string obstacle_to_namespaces()
{
    if (first_line("/proc/sys/user/max_user_namespaces") == "0")
        return "sysctl user.max_user_namespaces is 0; set it to some thousands.";
    if (first_line("/proc/sys/kernel/unprivileged_userns_clone") == "0" && ::geteuid() != 0)
        return "sysctl kernel.unprivileged_userns_clone is 0; set it to 1.";
    if (first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1")
        return "AppArmor allows them only to programs with a profile (sysctl "
               "kernel.apparmor_restrict_unprivileged_userns is "
               "1): load the profile of docs/run.md for container-mcp-run, or set it to 0.";
    if (text_of("/proc/self/status").find("\nSeccomp:\t2") != std::string::npos)
        return "A system call filter around this process forbids them, as in another sandbox or in a container with "
               "the usual "
               "profile: run outside of it, or give the container container/seccomp.json (--security-opt "
               "seccomp=FILE).";
    return "A container or another sandbox around this process forbids them: give it the right to make namespaces, or "
           "run "
           "outside of it.";
}

/// Beside the sandbox, until it ends.
class local_run {
public:
    explicit local_run(const run_words& words)
        : words_(words),
          home_(home_folder()),
          policy_(policy_of(words, home_)),
          working_(fs::current_path().string()),
          rules_(policy_, home_, working_)
    {
        check_streams();
        if (rules_.access(working_) == access_to_files::hidden)
            throw bad_policy("The current folder " + working_ +
                             " is hidden by the policy; allow it in allowRead or allowWrite.");
        end_.notes = rules_.notes();
    }

    int run()
    {
        if (!policy_.allowed_hosts.empty())
            network_.emplace(network_order{policy_.allowed_hosts, policy_.denied_hosts});
        begin();
        watch();
        end();
        return end_.exit_code;
    }

private:
    void begin()
    {
        local_plan plan;
        plan.argv = words_.argv;
        plan.environment = environment_of(rules_, network_.has_value());
        plan.rules = &rules_;
        plan.working = working_;
        plan.user = {::geteuid(), ::getegid()};
        if (network_) plan.ports = network_->ports();
        std::tie(control_, plan.control) = packet_socket_pair();
        sigset_t heard;
        ::sigemptyset(&heard);
        for (const int each : passed_on) ::sigaddset(&heard, each);
        ::sigprocmask(SIG_BLOCK, &heard, &plan.signals);
        began_ = clock::now();
        child_ = clone_into_namespaces(all_namespaces(false), -1);
        if (child_.pid == 0) {
            control_.reset();
            live_as_first_process(plan);
        }
        plan.control.reset();
        signals_.reset(check(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK), "watch signals"));
    }

    void watch()
    {
        while (!status_) {
            pollfd all[] = {{control_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
            const int ready = ::poll(all, 2, milliseconds_left());
            if (ready < 0 && errno != EINTR) throw step_failed("wait");
            if (ready == 0 && milliseconds_left() == 0) return run_out();
            if (ready <= 0) continue;
            if (all[1].revents != 0) pass_signals();
            if (all[0].revents != 0) hear();
        }
    }

    int milliseconds_left() const
    {
        if (words_.timeout.count() == 0) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(began_ + words_.timeout - clock::now());
        constexpr std::int64_t most = 1 << 30;
        return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
    }

    void run_out()
    {
        end_.why = cause::timeout;
        kill_process(child_.pidfd.get());
        collect_process(child_.pidfd.get());
        hear();
    }

    void pass_signals() const
    {
        signalfd_siginfo heard;
        while (::read(signals_.get(), &heard, sizeof heard) == sizeof heard)
            if (!comes_from_terminal(heard)) send_packet(control_.get(), encoded(static_cast<int>(heard.ssi_signo)));
    }

    void hear()
    {
        while (auto message = receive_packet(control_.get())) {
            if (message->bytes.empty()) return lose();
            wire_reader in(std::string_view(message->bytes).substr(1));
            switch (static_cast<local_says>(message->bytes[0])) {
                case local_says::denied:
                    note(in.next<denial>());
                    break;
                case local_says::ended:
                    status_ = in.next<int>();
                    break;
                case local_says::doors:
                    network_->serve(std::move(message->descriptors));
                    break;
                case local_says::begun: {
                    const bool hears_refusals = in.next<bool>();
                    note_limits(hears_refusals, in.next<bool>());
                    break;
                }
                case local_says::absent:
                    absent_ = in.next<int>();
                    break;
                case local_says::failed: {
                    const int error = in.next<int>();
                    throw step_failed(in.next<std::string>(), error);
                }
            }
            if (status_) return;
        }
    }

    void lose()
    {
        if (end_.why == cause::timeout) {
            status_ = SIGKILL;
            return;
        }
        const siginfo_t how = collect_process(child_.pidfd.get());
        throw step_failed("keep the first process of the sandbox (it ended with " + std::to_string(how.si_status) + ")",
                          0);
    }

    void note_limits(bool hears_refusals, bool has_proc)
    {
        if (!hears_refusals)
            end_.notes.emplace_back(
                "A sandbox around this one hears of refused calls itself, so they cannot be named here.");
        if (!has_proc)
            end_.notes.emplace_back(
                "The container around this masks /proc, so the program has none; run the container with an unmasked "
                "/proc.");
    }

    // Programs look for many files that are not there.
    void note(denial what)
    {
        const bool is_of_file = what.what == denial::kind::read || what.what == denial::kind::write;
        const fs::path path = is_of_file ? what.target : "/";
        std::error_code absent;
        const bool is_there =
            fs::exists(fs::symlink_status(what.what == denial::kind::write ? path.parent_path() : path, absent));
        if (is_there && std::ranges::find(end_.denied, what) == end_.denied.end())
            end_.denied.push_back(std::move(what));
    }

    void end()
    {
        end_.wall = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began_);
        if (network_)
            for (denial& each : network_->finish()) note(std::move(each));
        judge();
        if (words_.json) std::fprintf(stderr, "%s\n", json_line(end_).c_str());
        if (words_.learn) std::fprintf(stderr, "%s", write_policy(learned(policy_, end_.denied, home_)).c_str());
        if (!words_.json) tell_people();
        if (end_.why == cause::signalled) end_by(end_.signal);
    }

    void judge()
    {
        if (end_.why == cause::timeout) {
            end_.exit_code = exit_timeout;
            end_.signal = SIGKILL;
        } else if (absent_) {
            end_.why = cause::setup_failed;
            end_.exit_code = *absent_ == ENOENT ? exit_not_found : exit_not_executable;
            end_.notes.push_back(absent_program(words_.argv, *absent_));
            if (auto hidden = hidden_program(words_.argv.front(), rules_)) note(std::move(*hidden));
        } else if (WIFSIGNALED(*status_)) {
            end_.signal = WTERMSIG(*status_);
            end_.why = end_.signal == SIGSYS ? cause::denied_syscall : cause::signalled;
            end_.exit_code = 128 + end_.signal;
        } else {
            end_.exit_code = WEXITSTATUS(*status_);
        }
    }

    void tell_people() const
    {
        if (absent_) std::fprintf(stderr, "%s\n", absent_program(words_.argv, *absent_).c_str());
        if (end_.why == cause::timeout)
            std::fprintf(stderr, "container-mcp run: ended after %g s (--timeout)\n",
                         std::chrono::duration<double>(words_.timeout).count());
        for (const auto& each : rules_.notes()) std::fprintf(stderr, "container-mcp run: %s\n", each.c_str());
        const std::string line = end_.exit_code == 0 || words_.learn ? "" : advice(end_.denied, home_);
        if (!line.empty()) std::fprintf(stderr, "container-mcp run: %s\n", line.c_str());
    }

    // As the shell would have seen it without a sandbox. The dump of memory is the program's business.
    static void end_by(int signal)
    {
        constexpr rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::signal(signal, SIG_DFL);
        sigset_t only;
        ::sigemptyset(&only);
        ::sigaddset(&only, signal);
        ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
        ::raise(signal);
    }

    const run_words& words_;
    std::string home_;
    local_policy policy_;
    std::string working_;
    file_rules rules_;
    std::optional<network_helper> network_;
    unique_fd control_, signals_;
    cloned child_;
    clock::time_point began_;
    std::optional<int> status_, absent_;
    local_end end_;
};

}  // namespace

int run_locally(const run_words& words) { return local_run(words).run(); }

std::string explain_local_failure(const std::exception& failure)
{
    const std::string step = failure.what();
    const int error = error_of(failure);
    const bool is_refused = error == EPERM || error == EACCES || error == ENOSPC || error == ENOSYS;
    constexpr std::string_view of_namespaces[] = {"clone", "id map", "mount namespace", "copy /", "bring loopback up"};
    if (!is_refused || std::ranges::find(of_namespaces, step) == std::end(of_namespaces))
        return explain_setup_failure(step, error);
    return "The sandbox could not be made: this machine refuses user namespaces (step \"" + step +
           "\": " + std::strerror(error) + "). Nothing was run. " + obstacle_to_namespaces();
}

}  // namespace cmcp::sandbox
