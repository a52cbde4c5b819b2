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
    std::vector<std::string> filters;
    for (const bpf_program* filter : plan.filters) filters.push_back(bytes_of(*filter));
    out(filters, bytes_of(*plan.announcing));
}

void read_filters(wire_reader& in, inside_plan& into)
{
    for (const auto& bytes : in.next<std::vector<std::string>>()) into.filters.push_back(filter_of(bytes));
    into.announcing = filter_of(in.next<std::string>());
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
    out(static_cast<bool>(plan.input), static_cast<bool>(plan.script), static_cast<bool>(plan.result));
    write_filters(out, plan);
    out(namespaces_outside);
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
    in(start.has_input, start.has_script, start.request.result_channel);
    take_descriptors(into.plan, start, message.descriptors);
    read_filters(in, into);
    in(into.namespaces_outside);
    read_plan(in, into.plan);
}

}  // namespace cmcp::sandbox
