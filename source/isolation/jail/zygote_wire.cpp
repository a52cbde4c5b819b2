#include "jail/zygote_wire.hpp"

#include "facilities/setup_step.hpp"

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, jail_plan>& plan)
{
    auto& rules = plan.rules;
    wire(rules.read_execute, rules.read_only, rules.read_write, rules.read_remove, plan.writable_may_execute,
         plan.outside.user, plan.outside.group, plan.maps_itself, plan.apparmor, plan.lasts);
}

namespace {

unique_fd take_next(std::vector<unique_fd>& descriptors, bool wanted)
{
    if (!wanted) return {};
    if (descriptors.empty()) throw step_failed("receive descriptors", EBADMSG);
    unique_fd next = std::move(descriptors.front());
    descriptors.erase(descriptors.begin());
    return next;
}

}  // namespace

// The path of the workspace outside stays outside: nothing in the child needs it. Arguments and environment, which may
// be long, come with the start.
void write_plan(wire_writer& out, const jail_plan& plan)
{
    run_request request = plan.request;
    request.workspace.clear();
    if (!request.argv.empty()) request.argv.resize(1);
    request.environment.clear();
    request.files.clear();
    out(plan, encode_start(0, plan.probe, request));
}

void read_plan(wire_reader& in, jail_plan& plan)
{
    in(plan);
    start_message start = decode_start(in.next<std::string>());
    plan.request = std::move(start.request);
    plan.probe = start.probe;
}

std::string encode_plan(const jail_plan& plan)
{
    wire_writer out;
    out(static_cast<bool>(plan.workspace), static_cast<bool>(plan.files), static_cast<bool>(plan.execution));
    write_plan(out, plan);
    return out.take();
}

std::vector<int> plan_descriptors(const jail_plan& plan)
{
    std::vector<int> descriptors{plan.root.get()};
    if (plan.workspace) descriptors.push_back(plan.workspace.get());
    if (plan.files) descriptors.push_back(plan.files.get());
    if (plan.execution) descriptors.push_back(plan.execution.get());
    return descriptors;
}

void decode_plan(packet message, jail_plan& plan)
{
    wire_reader in(message.bytes);
    const bool with_workspace = in.next<bool>();
    const bool with_files = in.next<bool>();
    const bool with_execution = in.next<bool>();
    read_plan(in, plan);
    plan.root = take_next(message.descriptors, true);
    plan.workspace = take_next(message.descriptors, with_workspace);
    plan.files = take_next(message.descriptors, with_files);
    plan.execution = take_next(message.descriptors, with_execution);
}

std::string encode_begin(const start_message& start)
{
    run_request begun;
    begun.argv = start.request.argv;
    begun.environment = start.request.environment;
    if (start.has_input) begun.input.emplace();
    if (start.has_script) begun.script.emplace();
    begun.result_channel = start.request.result_channel;
    begun.terminal = start.request.terminal;
    begun.terminal_speaks = start.request.terminal_speaks;
    begun.working_dir = start.request.working_dir;
    begun.limits.wall = start.request.limits.wall;
    begun.limits.cpu = start.request.limits.cpu;
    begun.limits.file_size = start.request.limits.file_size;
    begun.limits.process_memory = start.request.limits.process_memory;
    return encode_start(0, start.probe, begun);
}

void take_descriptors(jail_plan& plan, const start_message& start, std::vector<unique_fd>& descriptors)
{
    plan.output = take_next(descriptors, true);
    plan.error = take_next(descriptors, true);
    plan.input = take_next(descriptors, start.has_input);
    plan.script = take_next(descriptors, start.has_script);
    plan.result = take_next(descriptors, start.request.result_channel);
}

}  // namespace cmcp::sandbox
