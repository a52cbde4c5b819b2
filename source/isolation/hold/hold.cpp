// Loaded into a program by the dynamic loader, this keeps it from reaching its main() until the launcher says what it
// is to do. The program is confined, mapped and relocated by then. It needs nothing but the C library, and allocates
// nothing.
#include "hold/held_start.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace {

using namespace cmcp::sandbox;

constexpr int most_descriptors = 5;

alignas(held_start) char received[held_packet_max];
char* variables[held_variables_max + 1];

struct message {
    held_start start;
    char* texts;
    char* end;
    int descriptors[most_descriptors];
    int count;
};

// Bytes as wire_writer writes them: the kind of message, errno, the step with its length before it.
[[noreturn]] void fail(const char* step, const char* which)
{
    char said[512] = {'f'};
    const std::int32_t error = errno;
    const auto first = static_cast<std::uint32_t>(std::strlen(step));
    const auto second = static_cast<std::uint32_t>(std::min<std::size_t>(std::strlen(which), 256));
    const std::uint32_t length = first + second;
    std::memcpy(said + 1, &error, sizeof error);
    std::memcpy(said + 5, &length, sizeof length);
    // NOLINTBEGIN(bugprone-not-null-terminated-result): the length goes before the text
    std::memcpy(said + 9, step, first);
    std::memcpy(said + 9 + first, which, second);
    // NOLINTEND(bugprone-not-null-terminated-result)
    ::send(held_control_descriptor, said, 9 + length, MSG_NOSIGNAL);
    ::_exit(1);
}

void take_descriptors(msghdr& packet, message& into)
{
    for (cmsghdr* each = CMSG_FIRSTHDR(&packet); each != nullptr; each = CMSG_NXTHDR(&packet, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        into.count = static_cast<int>((each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        std::memcpy(into.descriptors, CMSG_DATA(each), static_cast<std::size_t>(into.count) * sizeof(int));
    }
}

// Nobody wants the program any more: it ends without a word.
message await_start()
{
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_descriptors)];
    iovec bytes{received, sizeof received};
    msghdr packet{};
    packet.msg_iov = &bytes;
    packet.msg_iovlen = 1;
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
    ssize_t length = -1;
    while ((length = ::recvmsg(held_control_descriptor, &packet, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    if (length < static_cast<ssize_t>(sizeof(held_start)) || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        ::_exit(1);
    message start_packet{};
    std::memcpy(&start_packet.start, received, sizeof start_packet.start);
    start_packet.texts = received + sizeof(held_start);
    start_packet.end = received + length;
    take_descriptors(packet, start_packet);
    return start_packet;
}

char* next_text(message& from)
{
    char* const text = from.texts;
    char* const zero = static_cast<char*>(std::memchr(text, 0, static_cast<std::size_t>(from.end - text)));
    if (zero == nullptr) ::_exit(1);
    from.texts = zero + 1;
    return text;
}

void install_descriptors(const message& from)
{
    const bool wanted[most_descriptors] = {from.start.has_input, true, true, from.start.has_script,
                                           from.start.has_result};
    constexpr int order[most_descriptors] = {1, 2, 0, 3, 4};  // in which they come
    int next = 0;
    for (const int target : order) {
        if (!wanted[target]) {
            if (target > 2) ::close(target);  // the streams stay what they are, /dev/null
        } else if (next == from.count || ::dup2(from.descriptors[next++], target) < 0) {
            fail("place descriptors", "");
        }
    }
    ::syscall(SYS_close_range, static_cast<unsigned>(held_library_descriptor), ~0u, 0);
}

// /proc shows a program's arguments where the kernel put them, so they are overwritten where there is room for the new.
class strings_of_program {
public:
    strings_of_program(char* begin, char* end) : at_(begin), end_(end) {}
    ~strings_of_program() { std::memset(at_, 0, static_cast<std::size_t>(end_ - at_)); }

    char* put(char* text)
    {
        const std::size_t length = std::strlen(text) + 1;
        if (length > static_cast<std::size_t>(end_ - at_)) return text;
        char* const string = at_;
        std::memcpy(string, text, length);
        at_ += length;
        return string;
    }

private:
    char* at_;
    char* end_;
};

void limit(__rlimit_resource which, rlim_t soft, rlim_t hard, const char* step)
{
    rlimit now{};
    ::getrlimit(which, &now);
    const rlim_t top = std::min(hard, now.rlim_max);
    const rlimit wanted{std::min(soft, top), top};
    if (::setrlimit(which, &wanted) != 0) fail(step, "");
}

// Until the start comes, /proc shows the program's name alone. Returns where the arguments end.
char* hide_arguments(int argc, char** argv)
{
    char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
    std::memset(argv[1], 0, static_cast<std::size_t>(end - argv[1]));
    return end;
}

void rewrite(message& from, int argc, char** argv, char* end_of_arguments, char** environment)
{
    char** last = environment;
    while (last[1] != nullptr) ++last;
    strings_of_program arguments(argv[1], end_of_arguments);
    for (int i = 1; i < argc; ++i) argv[i] = arguments.put(next_text(from));
    strings_of_program originals(environment[0], *last + std::strlen(*last) + 1);
    for (std::uint32_t i = 0; i < from.start.variables; ++i) variables[i] = originals.put(next_text(from));
    environ = variables;
}

// The C library hands these three to every constructor, and main() gets the same argv and what environ is by then.
__attribute__((constructor)) void hold(int argc, char** argv, char** environment)
{
    constexpr char waiting = 'w';
    char* const end_of_arguments = hide_arguments(argc, argv);
    if (::send(held_control_descriptor, &waiting, 1, MSG_NOSIGNAL) != 1) ::_exit(1);
    message start = await_start();
    if (start.start.arguments + 1 != static_cast<std::uint32_t>(argc) || start.start.variables > held_variables_max)
        ::_exit(1);
    limit(RLIMIT_CPU, start.start.cpu_seconds, start.start.cpu_seconds + 1, "limit processor time");
    limit(RLIMIT_FSIZE, start.start.file_size, start.start.file_size, "limit file size");
    const char* const folder = next_text(start);
    if (*folder != 0 && ::chdir(folder) != 0) fail("working folder ", folder);
    rewrite(start, argc, argv, end_of_arguments, environment);
    install_descriptors(start);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace
