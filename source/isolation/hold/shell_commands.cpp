// Loaded into the bash of a sandbox's shell by the dynamic loader, this replaces its reader: commands come
// whole over a socket and are run with bash's own parse_and_execute(), as those of a file that it sources. So nothing
// of it stands in the user's variables, options, traps, prompts and history. It needs nothing but the C library and
// what bash exports to its loadable builtins.
#include "hold/shell_command.hpp"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Bash's own. Weak, because another bash may lack one of them.
extern "C" {
extern jmp_buf top_level __attribute__((weak));
extern volatile int last_command_exit_value __attribute__((weak));
extern volatile int interrupt_state __attribute__((weak));
extern int executing __attribute__((weak));
extern int indirection_level __attribute__((weak));
extern int sourcelevel __attribute__((weak));
extern int array_needs_making __attribute__((weak));
extern pid_t last_asynchronous_pid __attribute__((weak));
int parse_and_execute(char* text, const char* from, int flags) __attribute__((weak));
void* xmalloc(size_t size) __attribute__((weak));
void xfree(void* memory) __attribute__((weak));
void* bind_variable(const char* name, char* value, int flags) __attribute__((weak));
void set_var_attribute(char* name, int attribute, int undo) __attribute__((weak));
int unbind_variable(const char* name) __attribute__((weak));
void set_working_directory(char* name) __attribute__((weak));
char* get_string_value(const char* name) __attribute__((weak));
void reset_local_contexts() __attribute__((weak));
void restore_sigmask() __attribute__((weak));
int signal_is_trapped(int number) __attribute__((weak));
void notify_and_cleanup() __attribute__((weak));
int change_flag(int flag, int on_or_off) __attribute__((weak));
void set_shellopts() __attribute__((weak));
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): its name there
int __sigaction(int number, const struct sigaction* to, struct sigaction* from);  // the C library's
}

namespace {

using namespace cmcp::sandbox;

constexpr int exported = 1;                      // att_exported
constexpr int not_interactive = 1;               // SEVAL_NONINT: no prompts, and no word about jobs that begin
constexpr int from_line_one = 0x10;              // SEVAL_RESETLINE
constexpr int discarded = 2, after_errexit = 4;  // what bash jumps to its top level for

constexpr int most_own_descriptors = 14;
constexpr rlim_t highest_own_descriptor = 4000;
constexpr int most_children = 256;
constexpr int deepest_child = 16;

int channel = -1;
int outputs[3] = {-1, -1, -1};
pid_t shell = 0;
bool waits_for_reader = false;

volatile sig_atomic_t interrupted = 0;        // in the command that runs
void (*handler_of_interrupt)(int) = nullptr;  // bash's
pid_t before[most_children];                  // children that a command found
int before_count = 0;

ssize_t read_now(int from, void* into, size_t most) { return ::syscall(SYS_read, from, into, most); }

bool usable()
{
    return &top_level && &last_command_exit_value && &interrupt_state && &executing && &indirection_level &&
           &array_needs_making && &last_asynchronous_pid && parse_and_execute && xmalloc && xfree && bind_variable &&
           set_var_attribute && unbind_variable && set_working_directory && get_string_value && reset_local_contexts &&
           restore_sigmask && signal_is_trapped && notify_and_cleanup && change_flag && set_shellopts;
}

void say(const char* text, size_t length, int to)
{
    while (length != 0) {
        const ssize_t written = ::write(to, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text += written;
        length -= static_cast<size_t>(written);
    }
}

void say_line(const char* text)
{
    char line[256];
    const int length = std::snprintf(line, sizeof line, "%s\n", text);
    say(line, static_cast<size_t>(length), channel);
}

// False: the server has gone.
bool take(void* into, size_t length)
{
    char* at = static_cast<char*>(into);
    while (length != 0) {
        const ssize_t got = read_now(channel, at, length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        length -= static_cast<size_t>(got);
    }
    return true;
}

// Bash frees some of them itself.
char* take_text(size_t length)
{
    char* const text = static_cast<char*>(xmalloc(length + 1));
    if (!take(text, length)) {
        xfree(text);
        return nullptr;
    }
    text[length] = 0;
    return text;
}

// Called in a handler of signals.
int children_of(pid_t parent, pid_t* into, int most)
{
    char path[64];
    char text[2048];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t length = read_now(file, text, sizeof text);
    ::close(file);
    int count = 0;
    pid_t number = 0;
    for (ssize_t i = 0; i < length && count < most; ++i) {
        if (text[i] >= '0' && text[i] <= '9') {
            number = number * 10 + (text[i] - '0');
            continue;
        }
        if (number != 0) into[count++] = number;
        number = 0;
    }
    return count;
}

void kill_tree(pid_t root, int depth)
{
    pid_t below[64];
    const int count = depth < deepest_child ? children_of(root, below, 64) : 0;
    ::kill(root, SIGKILL);
    for (int i = 0; i < count; ++i) kill_tree(below[i], depth + 1);
}

bool was_there(pid_t child)
{
    for (int i = 0; i < before_count; ++i)
        if (before[i] == child) return true;
    return child == last_asynchronous_pid;
}

// The server's last word to a command that an interrupt does not end: programs in the foreground are killed, jobs in
// the background stay.
void end_foreground(int)
{
    const int error = errno;
    if (::getpid() != shell) {
        ::signal(SIGQUIT, SIG_DFL);
        ::raise(SIGQUIT);
        return;
    }
    pid_t now[most_children];
    const int count = children_of(shell, now, most_children);
    for (int i = 0; i < count; ++i)
        if (!was_there(now[i])) kill_tree(now[i], 0);
    interrupt_state = 1;
    errno = error;
}

// Bash forgets an interrupt that comes while it starts a program, or waits for one that then ends by itself. An
// interrupt is meant for the whole command, so it is remembered.
void note_interrupt(int number)
{
    interrupted = 1;
    if (handler_of_interrupt != nullptr) handler_of_interrupt(number);
}

int change_action(int number, const struct sigaction* to, struct sigaction* from)
{
    void (*const inner)(int) = handler_of_interrupt;
    struct sigaction wrapped;
    const bool handles = number == SIGINT && to != nullptr && (to->sa_flags & SA_SIGINFO) == 0 &&
                         to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN && to->sa_handler != note_interrupt;
    if (handles) {
        wrapped = *to;
        handler_of_interrupt = to->sa_handler;
        wrapped.sa_handler = note_interrupt;
        to = &wrapped;
    }
    const int result = __sigaction(number, to, from);
    if (number == SIGINT && from != nullptr && from->sa_handler == note_interrupt) from->sa_handler = inner;
    return result;
}

// In the shell, once a program has ended: the rest of the command does not run.
void pass_interrupt_on(pid_t ended)
{
    if (ended <= 0 || !interrupted || ::getpid() != shell || signal_is_trapped(SIGINT) != 0) return;
    interrupted = 0;
    interrupt_state = 1;
}

// In a child of the shell, which had the shell's handler when the interrupt came.
void end_if_interrupted()
{
    struct sigaction now {};
    if (!interrupted || ::getpid() == shell || __sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler == SIG_IGN)
        return;
    now.sa_handler = SIG_DFL;
    __sigaction(SIGINT, &now, nullptr);
    ::raise(SIGINT);
}

bool same_file(int one, int other)
{
    struct stat a, b;
    return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// True: the command had moved one of the outputs for good.
bool give_outputs_back()
{
    bool moved = false;
    for (int stream = 0; stream < 3; ++stream) {
        if (same_file(stream, outputs[stream])) continue;
        moved = moved || stream != 0;
        ::dup2(outputs[stream], stream);
    }
    return moved;
}

void export_variable(char* setting)
{
    char* const end = std::strchr(setting, '=');
    if (end == nullptr) return;
    *end = 0;
    bind_variable(setting, end + 1, 0);
    set_var_attribute(setting, exported, 0);
    array_needs_making = 1;
}

bool enter(char* folder)
{
    if (::chdir(folder) != 0) {
        char said[512];
        std::snprintf(said, sizeof said, "bash: cd: %.300s: %s\n", folder, std::strerror(errno));
        say(said, std::strlen(said), 2);
        return false;
    }
    char* const left = get_string_value("PWD");
    if (left != nullptr && std::strcmp(left, folder) == 0) return true;
    bind_variable("OLDPWD", left, 0);
    bind_variable("PWD", folder, 0);
    set_working_directory(folder);
    array_needs_making = 1;
    return true;
}

struct order {
    char *mark, *folder, *variable, *command;
};

bool take_order(order& next)
{
    shell_command_head head{};
    if (!take(&head, sizeof head)) return false;
    next.mark = take_text(head.mark);
    next.folder = next.mark ? take_text(head.folder) : nullptr;
    next.variable = next.folder ? take_text(head.variable) : nullptr;
    next.command = next.variable ? take_text(head.command) : nullptr;
    return next.command != nullptr;
}

void answer(const order& done, int status, char how)
{
    std::fflush(nullptr);
    const bool moved = give_outputs_back();
    const size_t length = std::strlen(done.mark);
    say(done.mark, length, outputs[1]);
    say(done.mark, length, outputs[2]);
    char line[200];
    std::snprintf(line, sizeof line, "%s %d %c%c", done.mark, status, how, moved ? shell_moved_output : '-');
    say_line(line);
}

// Bash leaves its command with one of these: an error or an interrupt, `set -e`, or the end of the shell. The first two
// are the end of the command alone.
int run(order& next, volatile bool& errexit, jmp_buf& end_of_shell)
{
    const int jumped = _setjmp(top_level);
    if (jumped == 0) {
        if (*next.variable != 0) export_variable(next.variable);
        if (*next.folder != 0 && !enter(next.folder)) {
            xfree(next.command);
            last_command_exit_value = 1;
            return 1;
        }
        const int status = parse_and_execute(next.command, "-c", not_interactive | from_line_one);
        if (status != 0) last_command_exit_value = status;
        return status;
    }
    restore_sigmask();
    if (jumped != discarded && jumped != after_errexit) {
        std::memcpy(&top_level, &end_of_shell, sizeof end_of_shell);
        longjmp(top_level, jumped);
    }
    if (jumped == after_errexit) reset_local_contexts();
    errexit = jumped == after_errexit;
    if (last_command_exit_value == 0) last_command_exit_value = 1;
    return last_command_exit_value;
}

// Jobs in the foreground that have ended would stand in the user's list for ever: as a rule bash drops them before it
// shows a prompt.
void make_ready_for_command()
{
    give_outputs_back();
    notify_and_cleanup();
    if (signal_is_trapped(SIGQUIT) == 0) {
        struct sigaction quit {};
        quit.sa_handler = end_foreground;
        ::sigaction(SIGQUIT, &quit, nullptr);
    }
    before_count = children_of(shell, before, most_children);
    interrupted = 0;
    interrupt_state = 0;  // one that came too late was for the command before
    indirection_level = 0;
    executing = 1;
    if (&sourcelevel) sourcelevel = 1;
}

// Bash waits in its reader for good: the line that it asks for never comes.
[[noreturn]] void serve()
{
    static char prompt[] = "\\s-\\v\\$ ";
    static jmp_buf end_of_shell;
    static order next;
    std::memcpy(&end_of_shell, &top_level, sizeof end_of_shell);
    change_flag('m', '+');  // an interrupt is for the shell and its programs alike
    set_shellopts();
    unbind_variable("HISTFILE");
    unbind_variable("PS1");  // it was empty so that nothing is printed here
    bind_variable("PS1", prompt, 0);
    say_line(shell_ready);
    while (take_order(next)) {
        make_ready_for_command();
        say_line(next.mark);
        volatile bool errexit = false;
        const int status = run(next, errexit, end_of_shell);
        executing = 0;
        answer(next, status, errexit ? shell_ended_by_errexit : '-');
        xfree(next.mark);
        xfree(next.folder);
        xfree(next.variable);
    }
    ::_exit(0);
}

ssize_t read_or_serve(int from, void* into, size_t most)
{
    if (waits_for_reader && from == 0 && ::getpid() == shell) {
        waits_for_reader = false;
        if (usable()) serve();
    }
    return read_now(from, into, most);
}

// Scripts use low numbers and round ones (`exec 200>lock`), so these are at the end of what is allowed.
int out_of_the_way(int descriptor)
{
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    const rlim_t end = files.rlim_cur < highest_own_descriptor ? files.rlim_cur : highest_own_descriptor;
    return ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(end) - most_own_descriptors);
}

void forget_variable(char** environment, const char* start)
{
    char** next = environment;
    for (char** each = environment; *each != nullptr; ++each)
        if (std::strncmp(*each, start, std::strlen(start)) != 0) *next++ = *each;
    *next = nullptr;
}

// The library itself was the standard input.
__attribute__((constructor)) void begin(int, char**, char** environment)
{
    forget_variable(environment, "LD_PRELOAD=");
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, 0);
    ::close(nothing);
    channel = out_of_the_way(shell_channel_descriptor);
    ::close(shell_channel_descriptor);
    for (int stream = 0; stream < 3; ++stream) outputs[stream] = out_of_the_way(stream);
    shell = ::getpid();
    waits_for_reader = channel >= 0;
}

}  // namespace

#define CMCP_REPLACES_C_LIBRARY __attribute__((visibility("default")))

extern "C" {
CMCP_REPLACES_C_LIBRARY ssize_t read(int from, void* into, size_t most) { return read_or_serve(from, into, most); }

// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): what fortified programs call
CMCP_REPLACES_C_LIBRARY ssize_t __read_chk(int from, void* into, size_t most, size_t)
{
    return read_or_serve(from, into, most);
}

CMCP_REPLACES_C_LIBRARY int sigaction(int number, const struct sigaction* to, struct sigaction* from)
{
    return change_action(number, to, from);
}

CMCP_REPLACES_C_LIBRARY pid_t waitpid(pid_t of, int* status, int options)
{
    const auto ended = static_cast<pid_t>(::syscall(SYS_wait4, of, status, options, nullptr));
    pass_interrupt_on(ended);
    return ended;
}

CMCP_REPLACES_C_LIBRARY int execve(const char* path, char* const* arguments, char* const* environment)
{
    end_if_interrupted();
    return static_cast<int>(::syscall(SYS_execve, path, arguments, environment));
}
}
