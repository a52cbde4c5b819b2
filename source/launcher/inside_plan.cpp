#include "launcher/inside_plan.hpp"

#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/wire.hpp"

#include <unistd.h>

namespace cmcp::sandbox {
namespace {

std::string bytes_of(const bpf_program& filter)
{
    return {reinterpret_cast<const char*>(filter.code.data()), filter.code.size() * sizeof(sock_filter)};
}

bpf_program filter_of(const std::string& bytes)
{
    bpf_program filter;
    filter.code.resize(bytes.size() / sizeof(sock_filter));
    std::memcpy(filter.code.data(), bytes.data(), filter.code.size() * sizeof(sock_filter));
    return filter;
}

void write_filters(wire_writer& out, const jail_plan& plan)
{
    out.number(static_cast<std::uint32_t>(plan.filters.size()));
    for (const bpf_program* filter : plan.filters) out.text(bytes_of(*filter));
    out.text(bytes_of(*plan.announcing));
}

void read_filters(wire_reader& in, inside_plan& into)
{
    for (auto left = in.number<std::uint32_t>(); left != 0; --left) into.filters.push_back(filter_of(in.text()));
    into.announcing = filter_of(in.text());
    for (const auto& filter : into.filters) into.plan.filters.push_back(&filter);
    into.plan.announcing = &into.announcing;
}

}  // namespace

std::vector<int> inside_descriptors(const jail_plan& plan)
{
    std::vector<int> all;
    for (const unique_fd* each : {&plan.output, &plan.error, &plan.input, &plan.script, &plan.result})
        if (*each) all.push_back(each->get());
    return all;
}

std::string encode_inside_plan(const jail_plan& plan, const std::string& namespaces_outside)
{
    wire_writer out;
    for (const unique_fd* each : {&plan.input, &plan.script, &plan.result}) out.number(static_cast<bool>(*each));
    write_filters(out, plan);
    out.text(namespaces_outside);
    write_plan(out, plan);
    return out.take();
}

void decode_inside_plan(packet message, inside_plan& into)
{
    if (message.descriptors.empty()) throw step_failed("receive the plan", EBADMSG);
    const std::string bytes = read_memory(message.descriptors.front().get(), "read the plan");
    message.descriptors.erase(message.descriptors.begin());
    wire_reader in(bytes);
    start_message start;
    start.has_input = in.number<bool>();
    start.has_script = in.number<bool>();
    start.request.result_channel = in.number<bool>();
    take_descriptors(into.plan, start, message.descriptors);
    read_filters(in, into);
    into.namespaces_outside = in.text();
    read_plan(in, into.plan);
}

}  // namespace cmcp::sandbox
