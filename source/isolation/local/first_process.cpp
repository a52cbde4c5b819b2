#include "local/first_process.hpp"

#include "facilities/capabilities.hpp"
#include "facilities/landlock.hpp"
#include "facilities/setup_step.hpp"
#include "jail/doors.hpp"
#include "jail/seccomp_filter.hpp"
#include "local/call_watch.hpp"
#include "local/filters.hpp"
#include "local/local_names.hpp"
#include "local/local_root.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t most_denials = 256;

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name)
{
    for (const std::string_view each : environment)
        if (each.starts_with(name) && each.substr(name.size()).starts_with('=')) return each.substr(name.size() + 1);
    return {};
}

// Every port is the sandbox's own. Where the file is not to be written, the kernel's bound stays.
void open_all_ports()
{
    const unique_fd first(::open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC));
    if (first) static_cast<void>(::write(first.get(), "0", 1) == 1);
}

landlock_rules rules_of(const file_rules& files)
{
    landlock_rules rules;
    rules.read_execute = {"/"};
    rules.read_write = {"/tmp", "/var/tmp", "/dev"};
    for (const file_rule& each : files.all())
        if (each.access == access_to_files::writable) rules.read_write.push_back(each.path);
    return rules;
}

/// The loop beside the program.
class first_process {
public:
    explicit first_process(local_plan& plan) : plan_(plan) {}

    [[noreturn]] void live()
    {
        make_sandbox();
        children_ = watch_signals({SIGCHLD});
        check(children_.get(), "watch children");
        auto [ours, theirs] = packet_socket_pair();
        program_ = check(::fork(), "start a process");
        if (program_ == 0) become_program(std::move(theirs));
        theirs.reset();
        leave_streams();
        watch(std::move(ours));
        for (;;) serve();
    }

private:
    void make_sandbox()
    {
        close_all_but({0, 1, 2, plan_.control.get()});
        map_own_ids(plan_.user, plan_.user);
        die_with_parent();
        open_network();
        root_ = enter_local_root({plan_.rules, plan_.working, plan_.user.user == 0});
        forget_keyrings();
        if (!drop_all_capabilities()) throw step_failed("drop capabilities");
        check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
        die_with_parent();
        if (!apply_landlock(rules_of(*plan_.rules))) throw step_failed("Landlock");
    }

    void open_network()
    {
        bring_loopback_up();
        add_loopback_addresses();
        open_all_ports();
        if (plan_.ports.empty()) return names_.open();
        hand_over_doors(plan_.control.get(), plan_.ports, false);
    }

    [[noreturn]] void become_program(unique_fd link) const
    {
        try {
            close_all_but({0, 1, 2, link.get()});
            ::prctl(PR_SET_PDEATHSIG, 0);
            ::sigprocmask(SIG_SETMASK, &plan_.signals, nullptr);
            unique_fd listener = install_announcing_filter(watched_filter());
            if (!listener && !install_filter(quiet_filter())) throw step_failed("system call filter");
            const int heard = listener.get();
            send_packet(link.get(), encoded(local_says::begun),
                        listener ? std::span<const int>(&heard, 1) : std::span<const int>());
            listener.reset();
            await_packet_or_end(link.get());  // until somebody answers
            execute();
            send_packet(link.get(), encoded(local_says::absent, errno));
        } catch (const std::exception& failure) {
            send_packet(link.get(), encoded(local_says::failed, error_of(failure), std::string_view(failure.what())));
        }
        ::_exit(127);
    }

    // As a shell does, with the sandbox's own files. Returns with errno.
    void execute() const
    {
        auto argv = plan_.argv;
        auto environment = plan_.environment;
        const std::string& name = argv.front();
        const auto argument_pointers = pointers(argv), variables = pointers(environment);
        if (name.find('/') != std::string::npos) {
            ::execve(name.c_str(), argument_pointers.data(), variables.data());
            return;
        }
        int last_error = ENOENT;
        const std::string_view path = value_in(plan_.environment, "PATH");
        for (std::size_t at = 0; at <= path.size();) {
            const auto end = std::min(path.find(':', at), path.size());
            const std::string folder(path.substr(at, end - at));
            ::execve((folder.empty() ? name : folder + "/" + name).c_str(), argument_pointers.data(), variables.data());
            if (errno != ENOENT && errno != ENOTDIR) last_error = errno;
            at = end + 1;
        }
        errno = last_error;
    }

    // Whoever reads the program's output is to see its end.
    static void leave_streams()
    {
        const unique_fd nothing(check(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
        for (const int stream : {0, 1, 2}) check(::dup3(nothing.get(), stream, O_CLOEXEC), "open /dev/null");
    }

    void watch(unique_fd link)
    {
        packet first = await_packet(link.get());
        const auto says = first.bytes.empty() ? local_says::failed : static_cast<local_says>(first.bytes[0]);
        if (says == local_says::failed) {
            tell(first.bytes.empty() ? encoded(local_says::failed, 0, std::string_view("start the program"))
                                     : first.bytes);
            ::_exit(1);
        }
        if (!first.descriptors.empty())
            calls_.emplace(std::move(first.descriptors.front()), *plan_.rules, names_, std::move(root_.own_memory),
                           !plan_.ports.empty(), [this](const denial& what) { report(what); });
        link_ = std::move(link);
        tell(encoded(local_says::begun, calls_.has_value(), root_.has_proc));
        send_packet(link_.get(), "g");
    }

    void serve()
    {
        pollfd all[] = {{plan_.control.get(), POLLIN, 0},
                        {children_.get(), POLLIN, 0},
                        {calls_ ? calls_->readable() : -1, POLLIN, 0},
                        {names_.readable(), POLLIN, 0},
                        {link_.get(), POLLIN, 0}};
        constexpr int between_tries_ms = 20;
        if (::poll(all, std::size(all), calls_ && calls_->waits() ? between_tries_ms : -1) < 0 && errno != EINTR)
            throw step_failed("wait");
        if (all[2].revents != 0) calls_->answer();
        if (calls_ && calls_->waits()) calls_->try_again();
        if (all[3].revents != 0) names_.answer();
        if (all[4].revents != 0) hear_of_start();
        if (all[0].revents != 0) pass_signals();
        if (all[1].revents != 0) collect();
    }

    // It is closed by the program's execution.
    void hear_of_start()
    {
        const auto message = receive_packet(link_.get());
        if (message && !message->bytes.empty()) tell(message->bytes);
        if (!message || message->bytes.empty()) link_.reset();
    }

    void pass_signals() const
    {
        while (const auto order = receive_packet(plan_.control.get())) {
            if (order->bytes.empty()) ::_exit(1);  // nobody waits for the program any more
            ::kill(program_, decoded<int>(order->bytes));
        }
    }

    void collect()
    {
        signalfd_siginfo heard;
        while (::read(children_.get(), &heard, sizeof heard) > 0) {
        }
        int status = 0;
        for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
            if (ended == program_) end(status);
    }

    // With all that it has left behind. The command need not wait until the mounts are taken down.
    [[noreturn]] void end(int status) const
    {
        ::kill(-1, SIGKILL);
        while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
        }
        tell(encoded(local_says::ended, status));
        ::_exit(0);
    }

    void report(const denial& what)
    {
        if (told_.size() == most_denials || !told_.insert(encoded(what)).second) return;
        tell(encoded(local_says::denied, what));
    }

    void tell(const std::string& message) const { send_packet_waiting(plan_.control.get(), message); }

    local_plan& plan_;
    local_root root_;
    local_names names_;
    unique_fd children_, link_;
    pid_t program_ = 0;
    std::optional<call_watch> calls_;
    std::set<std::string> told_;
};

}  // namespace

void live_as_first_process(local_plan& plan)
{
    const int control = plan.control.get();
    try {
        first_process(plan).live();
    } catch (const std::exception& failure) {
        send_packet(control, encoded(local_says::failed, error_of(failure), std::string_view(failure.what())));
    }
    ::_exit(1);
}

}  // namespace cmcp::sandbox
