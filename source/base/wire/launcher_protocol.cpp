#include "wire/launcher_protocol.hpp"

#include "wire/wire.hpp"

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, run_limits>& limits)
{
    wire(limits.wall, limits.cpu, limits.memory, limits.process_memory, limits.processes, limits.file_size,
         limits.tmp_size, limits.open_files, limits.workspace_size, limits.workspace_files);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, terminal_size>& size)
{
    wire(size.columns, size.rows);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, browser_part>& browser)
{
    wire(browser.ports, browser.policy, browser.trial);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, given_file>& file)
{
    wire(file.name, file.content);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, run_request>& request)
{
    wire(request.image, request.cell, request.shape, request.principal, request.result_channel, request.prepared,
         request.data_libraries, request.argv, request.working_dir, request.workspace, request.workspace_inside,
         request.environment, request.programs.all, request.programs.names, request.limits, request.terminal,
         request.terminal_speaks, request.browser, request.doors, request.machine, request.user, request.tools,
         request.files);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, ended_message>& ended)
{
    auto& result = ended.result;
    wire(ended.id, result.why, result.exit_code, result.signal, result.error, result.detail, result.denied, result.wall,
         result.cpu, result.peak_memory, result.prepared, result.waited, result.cell, result.left.hung_up,
         result.left.others, result.no_room, result.live_at_limit);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, cell_name>& name)
{
    wire(name.principal, name.cell);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, end_cell_message>& end)
{
    wire(end.id, end.name);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, cell_state>& state)
{
    wire(state.name, state.processes, state.memory, state.cpu);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, cells_message>& cells)
{
    wire(cells.id, cells.cells);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, socket_request>& request)
{
    wire(request.id, request.cell, request.kind);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, socket_answer>& answer)
{
    wire(answer.id, answer.error);
}

namespace {

std::string_view body_of(std::string_view message) { return message.substr(1); }

}  // namespace

message_kind kind_of(std::string_view message)
{
    const auto kind = message.empty() ? 0 : static_cast<unsigned char>(message[0]);
    if (kind < 1 || kind > static_cast<unsigned char>(message_kind::hold_cells))
        throw std::runtime_error("a message between server and launcher is of no known kind");
    return static_cast<message_kind>(kind);
}

std::string encode_start(std::uint64_t id, bool probe, const run_request& request)
{
    const bool has_script = request.script.has_value() || request.channel != nullptr;
    return encoded(id, probe, request.input.has_value(), has_script, request);
}

start_message decode_start(std::string_view body)
{
    start_message start;
    wire_reader in(body);
    in(start.id, start.probe, start.has_input, start.has_script, start.request);
    return start;
}

std::string encode_cancel(std::uint64_t id) { return encoded(message_kind::cancel, id); }

std::uint64_t decode_cancel(std::string_view message) { return decoded<std::uint64_t>(body_of(message)); }

std::string encode_largest_ended(std::uint64_t id) { return encoded(message_kind::largest_ended, id); }

std::string encode_ended(const ended_message& ended) { return encoded(message_kind::ended, ended); }

ended_message decode_ended(std::string_view message) { return decoded<ended_message>(body_of(message)); }

std::string encode_end_cell(const end_cell_message& end) { return encoded(message_kind::end_cell, end); }

end_cell_message decode_end_cell(std::string_view message) { return decoded<end_cell_message>(body_of(message)); }

std::string encode_hold_cells(bool on) { return encoded(message_kind::hold_cells, on); }

bool decode_hold_cells(std::string_view message) { return decoded<bool>(body_of(message)); }

std::string encode_list_cells(std::uint64_t id) { return encoded(message_kind::list_cells, id); }

std::uint64_t decode_list_cells(std::string_view message) { return decoded<std::uint64_t>(body_of(message)); }

std::string encode_open_socket(const socket_request& request) { return encoded(message_kind::open_socket, request); }

socket_request decode_open_socket(std::string_view message)
{
    auto request = decoded<socket_request>(body_of(message));
    if (request.kind < cell_socket::tcp4 || request.kind > cell_socket::statistics)
        throw std::runtime_error("a message between server and launcher asks for a socket of no known kind");
    return request;
}

std::string encode_socket(const socket_answer& answer) { return encoded(message_kind::socket, answer); }

socket_answer decode_socket(std::string_view message) { return decoded<socket_answer>(body_of(message)); }

std::string encode_doors(const cell_name& cell) { return encoded(message_kind::doors, cell); }

cell_name decode_doors(std::string_view message) { return decoded<cell_name>(body_of(message)); }

std::string encode_cells(const cells_message& cells) { return encoded(message_kind::cells, cells); }

cells_message decode_cells(std::string_view message) { return decoded<cells_message>(body_of(message)); }

std::string encode_text(message_kind kind, std::string_view text) { return encoded(kind).append(text); }

std::string decode_text(std::string_view message) { return std::string(body_of(message)); }

}  // namespace cmcp::sandbox
