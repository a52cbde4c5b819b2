#include "images/helper_program.hpp"

#include "facilities/landlock.hpp"
#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "images/image.hpp"
#include "limits/tree_usage.hpp"
#include "posix/bytes.hpp"
#include "posix/child_process.hpp"
#include "text/words.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

namespace cmcp {
namespace {

constexpr std::uint64_t most_files = 2'000'000;
constexpr int not_installed = 127, not_confined = 126;
constexpr std::size_t longest_complaint = 4096;
constexpr std::uint16_t proxy_port = 3128;  // nobody else listens in that network

unique_fd listen_on_loopback(std::uint16_t port)
{
    unique_fd listener(sandbox::check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "make the proxy's socket"));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sandbox::check(::bind(listener.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), "bind the proxy's port");
    sandbox::check(::listen(listener.get(), SOMAXCONN), "listen on the proxy's port");
    return listener;
}

// A registry can lead the program to any address by a redirect, and Go asks no proxy for those of loopback. In a
// network of its own, it reaches the proxy or nothing.
void leave_network(const std::function<void(int)>& way_out)
{
    const sandbox::id_pair own{::geteuid(), ::getegid()};
    sandbox::check(::unshare(CLONE_NEWUSER | CLONE_NEWNET), "make a network of its own");
    sandbox::check(::prctl(PR_SET_DUMPABLE, 1), "id map");  // else its files in /proc are root's
    sandbox::write_id_maps("self", own, own, true);
    sandbox::bring_loopback_up();
    const unique_fd listener = listen_on_loopback(proxy_port);
    way_out(listener.get());
    const std::string proxy = "http://127.0.0.1:" + std::to_string(proxy_port);
    for (const char* name : {"HTTPS_PROXY", "HTTP_PROXY"}) ::setenv(name, proxy.c_str(), 1);
    for (const char* name : {"NO_PROXY", "no_proxy", "https_proxy", "http_proxy"}) ::unsetenv(name);
}

int say_failed_step(const sandbox::step_failed& failure, int messages)
{
    const std::string text = std::string("step \"") + failure.what() + "\": " + std::strerror(failure.error);
    write_all(messages, text);
    return not_confined;
}

// In the child. A hostile archive meets a program that can write nowhere else.
int become_helper(const helper_order& order, int messages)
try {
    if (order.way_out) leave_network(order.way_out);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a user namespace clears it
    const rlimit largest{order.most_bytes, order.most_bytes};
    ::setrlimit(RLIMIT_FSIZE, &largest);
    ::setenv("TMPDIR", order.folder.c_str(), 1);
    ::setenv("XDG_DATA_HOME", order.folder.c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", order.folder.c_str(), 0);  // the one that skopeo takes in its place may be root's
    sandbox::landlock_rules rules;
    rules.read_execute = {"/"};
    rules.read_write = {order.folder.string(), "/dev"};
    if (!sandbox::apply_landlock(rules)) return not_confined;
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::dup2(messages, STDERR_FILENO);
    std::vector<std::string> argv = order.argv;
    ::execvp(argv[0].c_str(), pointers(argv).data());
    return not_installed;
} catch (const sandbox::step_failed& failure) {
    return say_failed_step(failure, messages);
}

// The pauses are long beside what counting takes; the last count is of what an ended program has left.
bool stays_small(const helper_order& order, int pidfd, int folder)
{
    std::chrono::milliseconds pause(100);
    for (;;) {
        pollfd over{pidfd, POLLIN, 0};
        const bool ended = ::poll(&over, 1, static_cast<int>(pause.count())) > 0;
        const auto began = std::chrono::steady_clock::now();
        const auto usage = sandbox::count_tree(folder, {order.most_bytes, most_files});
        if (usage.bytes > order.most_bytes || usage.files > most_files || !usage.complete) return false;
        if (ended) return true;
        constexpr int factor = 10;
        const auto took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
        pause = std::clamp(factor * took, std::chrono::milliseconds(100), std::chrono::milliseconds(5000));
    }
}

std::string last_words(int messages)
{
    std::string said = read_at(messages, 0, 1 << 20).value_or("");
    while (said.ends_with('\n')) said.pop_back();
    if (said.size() > longest_complaint) said = "…" + said.substr(said.size() - longest_complaint);
    return said;
}

[[noreturn]] void complain(const helper_order& order, const siginfo_t& end, int messages)
{
    const std::string& name = order.argv.front();
    if (end.si_code == CLD_EXITED && end.si_status == not_installed)
        throw image_error(name + " is not installed: apt-get install -y skopeo umoci");
    const std::string said = last_words(messages);
    throw image_error(name + " failed; nothing was added." + (said.empty() ? "" : " It said:\n" + said));
}

}  // namespace

void run_helper(const helper_order& order)
{
    const unique_fd messages(::memfd_create("messages", MFD_CLOEXEC));
    const unique_fd folder(::open(order.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!messages || !folder) throw_errno("prepare a program");
    const pid_t child = ::fork();
    if (child < 0) throw_errno("start a program");
    if (child == 0) ::_exit(become_helper(order, messages.get()));
    const unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    const bool small = pidfd && stays_small(order, pidfd.get(), folder.get());
    if (!small) ::kill(child, SIGKILL);
    const siginfo_t end = collect_process(pidfd.get());
    if (!small)
        throw image_error("The image is larger than SANDBOX_IMAGE_MAX_MB allows (" +
                          std::to_string(order.most_bytes >> 20) + "), or has too many files; nothing was added.");
    if (end.si_code != CLD_EXITED || end.si_status != 0) complain(order, end, messages.get());
}

}  // namespace cmcp
