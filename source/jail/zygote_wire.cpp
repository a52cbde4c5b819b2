#include "jail/zygote_wire.hpp"

#include "jail/setup_step.hpp"
#include "wire/wire.hpp"

namespace cmcp::sandbox {
namespace {

unique_fd take_next(std::vector<unique_fd>& descriptors, bool wanted)
{
    if (!wanted) return {};
    if (descriptors.empty()) throw step_failed("receive descriptors", EBADMSG);
    unique_fd taken = std::move(descriptors.front());
    descriptors.erase(descriptors.begin());
    return taken;
}

}  // namespace

std::string encode_setup(const zygote_setup& setup)
{
    wire_writer out;
    out.text(setup.profile);
    out.number(setup.memory_is_counted);
    out.number(setup.with_time_namespace);
    return out.take();
}

zygote_setup decode_setup(std::string_view bytes)
{
    wire_reader in(bytes);
    zygote_setup setup;
    setup.profile = in.text();
    setup.memory_is_counted = in.number<bool>();
    setup.with_time_namespace = in.number<bool>();
    return setup;
}

// The path of the workspace outside stays outside: nothing in the child needs it.
void write_plan(wire_writer& out, const jail_plan& plan)
{
    run_request request = plan.request;
    request.workspace.clear();
    out.texts(plan.rules.read_execute);
    out.texts(plan.rules.read_only);
    out.texts(plan.rules.read_write);
    out.texts(plan.rules.read_remove);
    out.number(plan.writable_may_execute);
    out.number(plan.outside.user);
    out.number(plan.outside.group);
    out.number(plan.maps_itself);
    out.text(plan.apparmor);
    out.text(encode_start(0, plan.probe, request));
}

void read_plan(wire_reader& in, jail_plan& plan)
{
    in.texts(plan.rules.read_execute);
    in.texts(plan.rules.read_only);
    in.texts(plan.rules.read_write);
    in.texts(plan.rules.read_remove);
    plan.writable_may_execute = in.number<bool>();
    plan.outside.user = in.number<uid_t>();
    plan.outside.group = in.number<gid_t>();
    plan.maps_itself = in.number<bool>();
    plan.apparmor = in.text();
    start_message wanted = decode_start(in.text());
    plan.request = std::move(wanted.request);
    plan.probe = wanted.probe;
}

std::string encode_plan(const jail_plan& plan)
{
    wire_writer out;
    out.number(static_cast<bool>(plan.workspace));
    write_plan(out, plan);
    return out.take();
}

std::vector<int> plan_descriptors(const jail_plan& plan)
{
    std::vector<int> descriptors{plan.root.get()};
    if (plan.workspace) descriptors.push_back(plan.workspace.get());
    return descriptors;
}

void decode_plan(packet message, jail_plan& plan)
{
    wire_reader in(message.bytes);
    const bool with_workspace = in.number<bool>();
    read_plan(in, plan);
    plan.root = take_next(message.descriptors, true);
    plan.workspace = take_next(message.descriptors, with_workspace);
}

std::string encode_begin(const start_message& start, bool with_program)
{
    wire_writer out;
    run_request program;
    if (with_program) {
        program.argv = start.request.argv;
        program.environment = start.request.environment;
    }
    out.text(encode_start(0, start.probe, program));
    out.number(start.has_input);
    out.number(start.has_script);
    out.number(start.request.result_channel);
    out.text(start.request.working_dir);
    out.number<std::int64_t>(start.request.limits.wall.count());
    out.number<std::int64_t>(start.request.limits.cpu.count());
    return out.take();
}

start_message decode_begin(std::string_view bytes)
{
    wire_reader in(bytes);
    start_message start = decode_start(in.text());
    start.has_input = in.number<bool>();
    start.has_script = in.number<bool>();
    start.request.result_channel = in.number<bool>();
    start.request.working_dir = in.text();
    start.request.limits.wall = std::chrono::milliseconds(in.number<std::int64_t>());
    start.request.limits.cpu = std::chrono::seconds(in.number<std::int64_t>());
    return start;
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
