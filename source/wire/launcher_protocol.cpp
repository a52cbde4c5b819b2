#include "wire/launcher_protocol.hpp"

#include "wire/wire.hpp"

namespace cmcp::sandbox {
namespace {

std::string with_kind(message_kind kind, std::string_view body)
{
    std::string message(1, static_cast<char>(kind));
    message += body;
    return message;
}

void write_limits(wire_writer& out, const run_limits& limits)
{
    out.number<std::int64_t>(limits.wall.count());
    out.number<std::int64_t>(limits.cpu.count());
    for (auto value : {limits.memory, limits.processes, limits.file_size, limits.tmp_size, limits.open_files,
                       limits.workspace_size, limits.workspace_files})
        out.number<std::uint64_t>(value);
}

run_limits read_limits(wire_reader& in)
{
    run_limits limits;
    limits.wall = std::chrono::milliseconds(in.number<std::int64_t>());
    limits.cpu = std::chrono::seconds(in.number<std::int64_t>());
    for (auto* value : {&limits.memory, &limits.processes, &limits.file_size, &limits.tmp_size, &limits.open_files,
                        &limits.workspace_size, &limits.workspace_files})
        *value = in.number<std::uint64_t>();
    return limits;
}

void write_environment(wire_writer& out, const run_request& request)
{
    out.number(static_cast<std::uint32_t>(request.environment.size()));
    for (const auto& [name, value] : request.environment) {
        out.text(name);
        out.text(value);
    }
}

void read_environment(wire_reader& in, run_request& request)
{
    for (auto left = in.number<std::uint32_t>(); left != 0; --left) {
        std::string name = in.text();
        std::string value = in.text();
        request.environment.emplace_back(std::move(name), std::move(value));
    }
}

}  // namespace

message_kind kind_of(std::string_view message)
{
    const auto kind = message.empty() ? 0 : static_cast<unsigned char>(message[0]);
    if (kind < 1 || kind > static_cast<unsigned char>(message_kind::prepared))
        throw std::runtime_error("a message between server and launcher is of no known kind");
    return static_cast<message_kind>(kind);
}

std::string encode_start(std::uint64_t id, bool probe, const run_request& request)
{
    wire_writer out;
    out.number(id);
    out.number(probe);
    out.number(request.input.has_value());
    out.number(request.script.has_value() || request.channel != nullptr);
    out.number(request.result_channel);
    out.number(request.prepared);
    out.number(request.data_libraries);
    out.texts(request.argv);
    out.text(request.working_dir);
    out.text(request.workspace);
    out.text(request.workspace_inside);
    write_environment(out, request);
    out.number(request.programs.all);
    out.texts(request.programs.names);
    write_limits(out, request.limits);
    return out.take();
}

start_message decode_start(std::string_view body)
{
    wire_reader in(body);
    start_message start;
    start.id = in.number<std::uint64_t>();
    start.probe = in.number<bool>();
    start.has_input = in.number<bool>();
    start.has_script = in.number<bool>();
    auto& request = start.request;
    request.result_channel = in.number<bool>();
    request.prepared = in.number<bool>();
    request.data_libraries = in.number<bool>();
    in.texts(request.argv);
    request.working_dir = in.text();
    request.workspace = in.text();
    request.workspace_inside = in.text();
    read_environment(in, request);
    request.programs.all = in.number<bool>();
    in.texts(request.programs.names);
    request.limits = read_limits(in);
    return start;
}

std::string encode_cancel(std::uint64_t id)
{
    wire_writer out;
    out.number(id);
    return with_kind(message_kind::cancel, out.take());
}

std::uint64_t decode_cancel(std::string_view message)
{
    wire_reader in(message.substr(1));
    return in.number<std::uint64_t>();
}

std::string encode_ended(const ended_message& ended)
{
    wire_writer out;
    const auto& result = ended.result;
    out.number(ended.id);
    out.number(static_cast<std::uint8_t>(result.why));
    out.number<std::int32_t>(result.exit_code);
    out.number<std::int32_t>(result.signal);
    out.text(result.error);
    out.text(result.detail);
    out.texts(result.denied);
    out.number<std::int64_t>(result.wall.count());
    out.number<std::int64_t>(result.cpu.count());
    out.number<std::uint64_t>(result.peak_memory);
    out.number(result.prepared);
    out.number(result.waited);
    return with_kind(message_kind::ended, out.take());
}

ended_message decode_ended(std::string_view message)
{
    wire_reader in(message.substr(1));
    ended_message ended;
    auto& result = ended.result;
    ended.id = in.number<std::uint64_t>();
    result.why = static_cast<cause>(in.number<std::uint8_t>());
    result.exit_code = in.number<std::int32_t>();
    result.signal = in.number<std::int32_t>();
    result.error = in.text();
    result.detail = in.text();
    in.texts(result.denied);
    result.wall = std::chrono::microseconds(in.number<std::int64_t>());
    result.cpu = std::chrono::microseconds(in.number<std::int64_t>());
    result.peak_memory = in.number<std::uint64_t>();
    result.prepared = in.number<bool>();
    result.waited = in.number<bool>();
    return ended;
}

std::string encode_prepare(const zygote_options& wanted)
{
    wire_writer out;
    out.text(wanted.path);
    out.text(wanted.profile);
    out.number(wanted.waiting);
    out.number(wanted.runs);
    out.text(encode_start(0, false, wanted.model));
    return with_kind(message_kind::prepare, out.take());
}

zygote_options decode_prepare(std::string_view message)
{
    wire_reader in(message.substr(1));
    zygote_options wanted;
    wanted.path = in.text();
    wanted.profile = in.text();
    wanted.waiting = in.number<std::uint32_t>();
    wanted.runs = in.number<std::uint32_t>();
    wanted.model = decode_start(in.text()).request;
    return wanted;
}

std::string encode_prepared(std::string_view state) { return with_kind(message_kind::prepared, state); }

std::string decode_prepared(std::string_view message) { return std::string(message.substr(1)); }

std::string encode_hello(std::string_view facts) { return with_kind(message_kind::hello, facts); }

std::string decode_hello(std::string_view message) { return std::string(message.substr(1)); }

}  // namespace cmcp::sandbox
