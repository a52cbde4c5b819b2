#include "firejail/inside.hpp"

#include "cell/cell_server.hpp"
#include "facilities/sealed_memory.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
#include "jail/zygote_wire.hpp"
#include "limits/limits.hpp"
#include "limits/socket_memory.hpp"
#include "probe/probe.hpp"
#include "probe/probe_facts.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, sock_filter>& each)
{
    wire(each.code, each.jt, each.jf, each.k);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, bpf_program>& filter)
{
    wire(filter.code);
}

namespace {

// A plan as it arrives inside, with the filters that a plan elsewhere only points to. Not to be moved: it points into
// itself.
struct inside_plan {
    jail_plan plan;
    std::vector<bpf_program> filters;
    bpf_program announcing;
    std::string namespaces_outside;  // JSON
};

// In a memfd, because a command may be longer than a packet.
std::string encode_inside_plan(const jail_plan& plan, const std::string& namespaces_outside)
{
    wire_writer out;
    std::vector<bpf_program> filters;
    for (const bpf_program* filter : plan.filters) filters.push_back(*filter);
    out(filters, *plan.announcing, namespaces_outside);
    write_plan(out, plan);
    return out.take();
}

void decode_inside_plan(packet message, inside_plan& into)
{
    if (message.descriptors.empty()) throw step_failed("receive the plan", EBADMSG);
    const std::string bytes = read_memory(message.descriptors.front().get(), "read the plan");
    wire_reader in(bytes);
    in(into.filters, into.announcing, into.namespaces_outside);
    for (const auto& filter : into.filters) into.plan.filters.push_back(&filter);
    into.plan.announcing = &into.announcing;
    read_plan(in, into.plan);
}

// Where this program finds its socket, the payload expects descriptors of its own.
int settle(unique_fd socket)
{
    constexpr int out_of_the_way = 10;
    const int control = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, out_of_the_way);
    if (control < 0) ::_exit(1);
    const unique_fd empty(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int descriptor : {inside_control, inside_program}) ::dup3(empty.get(), descriptor, O_CLOEXEC);
    static_cast<void>(socket.release());  // /dev/null is there now
    return control;
}

// By effect, for every run: where Firejail cannot confine, it may run programs all the same and call that success.
void check_confined(const std::string& namespaces_outside)
{
    const json::value outside = json::parse(namespaces_outside);
    const json::object here = namespace_facts();
    for (std::string_view kind : {"pid", "mnt", "net", "ipc", "uts"}) {
        const auto own = number(here, kind);
        if (!own || own == number(outside.as_object(), kind))
            throw step_failed("Firejail: no namespace of its own (" + std::string(kind) + ")", EPERM);
    }
    if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        throw step_failed("Firejail: new privileges are possible", EPERM);
    if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2) throw step_failed("Firejail: no system call filter", EPERM);
}

// Started by root, Firejail leaves uid 0 and the capabilities that this takes.
void become_run_user(const jail_plan& plan)
{
    if (plan.maps_itself) return;
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
        check(::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "drop capabilities");
    check(::setgroups(0, nullptr), "leave groups");
    check(::setresgid(plan.outside.group, plan.outside.group, plan.outside.group), "change group");
    check(::setresuid(plan.outside.user, plan.outside.user, plan.outside.user), "change user");
}

unique_fd open_folder(const char* path, int flags)
{
    return unique_fd(check(::open(path, flags | O_DIRECTORY | O_CLOEXEC), std::string("open ") + path));
}

void tell_inside(int control)
{
    const unique_fd first(check(static_cast<int>(::syscall(SYS_pidfd_open, 1, 0)), "find the first process"));
    const int fd = first.get();
    send_packet(control, encoded(child_says::inside, ::getpid()), {&fd, 1});
}

usage_sources open_usage_sources()
{
    return {open_folder("/proc", O_RDONLY), open_folder("/tmp", O_PATH), open_folder("/dev/shm", O_PATH),
            open_socket_statistics()};
}

// The rules of a program bind that alone and not this process: so its signals do not reach here.
void prepare(inside_plan& arrived)
{
    jail_plan& plan = arrived.plan;
    plan.programs_confine = true;
    check_confined(arrived.namespaces_outside);
    become_run_user(plan);
    ::prctl(PR_SET_DUMPABLE, 0);
    die_with_parent();  // with Firejail's first process
    check(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "collect orphans");
    tell_inside(plan.control.get());
    tell_ready(plan.control.get(), open_usage_sources());
    apply_limits(plan.request.limits);
    if (plan.probe) plan.outside_socket = make_outside_socket();
    enter_working_folder(plan.request);
}

}  // namespace

void send_inside_plan(int control, const jail_plan& plan, const std::string& namespaces_outside)
{
    const unique_fd memory = sealed_memory("plan", encode_inside_plan(plan, namespaces_outside));
    const int number = memory.get();
    if (!send_packet(control, "p", {&number, 1})) throw step_failed("hand over the plan", EAGAIN);
}

void live_inside(unique_fd socket)
{
    const int control = settle(std::move(socket));
    inside_plan arrived;
    arrived.plan.control.reset(control);
    try {
        decode_inside_plan(await_packet_or_end(control), arrived);
        prepare(arrived);
        serve_made_cell(arrived.plan);
    } catch (const std::exception& failure) {
        report_failure(control, failure);
    }
}

}  // namespace cmcp::sandbox
