#pragma once

#include "wire/run_request.hpp"
#include "wire/run_result.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Messages between server and launcher: one a packet, the kind in the first byte.
/// Descriptors of a start message, in this order, those in brackets only when the message says so:
/// [the message's body], standard output, standard error, [input], [script], [result channel].
namespace cmcp::sandbox {

enum class message_kind : std::uint8_t {
    hello = 1,
    start,
    start_in_memfd,
    cancel,
    ended,
    prepared,
    end_cell,
    list_cells,
    cells,
    open_socket,
    socket,
    largest_ended,
    doors,
    stops,  ///< without a body: the launcher ends because of a signal
    hold_cells,
};

/// Server to launcher: start a run.
struct start_message {
    std::uint64_t id = 0;
    bool probe = false;  ///< report the facts of the finished sandbox on the result channel instead of executing argv
    bool has_input = false;
    bool has_script = false;
    run_request request;  ///< without `input` and `script`: they are descriptors
};

/// A lasting cell, by its names, which a start in it uses too.
struct cell_name {
    std::string principal, cell;
    auto operator<=>(const cell_name&) const = default;
};

/// Server to launcher: end a lasting cell with every run in it. `cells` answers, with none, once nothing of it is left.
struct end_cell_message {
    std::uint64_t id = 0;  ///< of the request
    cell_name name;
};

/// The use of a lasting cell at one moment.
struct cell_state {
    cell_name name;
    std::uint64_t processes = 0;  ///< without the first one
    std::uint64_t memory = 0;     ///< bytes
    std::chrono::microseconds cpu{0};
};

/// Launcher to server: the lasting cells that live.
struct cells_message {
    std::uint64_t id = 0;  ///< of the request
    std::vector<cell_state> cells;
};

/// The kinds of sockets that a lasting cell's first process makes in the cell's network.
enum class cell_socket : std::uint8_t {
    tcp4 = 1,
    tcp6,
    statistics,  ///< sock_diag(7)
};

/// Server to launcher: a socket of a lasting cell's network is wanted.
struct socket_request {
    std::uint64_t id = 0;
    cell_name cell;
    cell_socket kind = cell_socket::tcp4;
};

/// Launcher to server: the answer, with the socket or an error.
struct socket_answer {
    std::uint64_t id = 0;
    std::string error;  ///< a sentence
};

/// Launcher to server: a run is over. No process that it started is left, but for those of other sessions in a lasting
/// cell.
struct ended_message {
    std::uint64_t id = 0;
    run_result result;  ///< without `result`
};

message_kind kind_of(std::string_view message);  ///< throws std::runtime_error when there is no such kind

std::string encode_start(std::uint64_t id, bool probe, const run_request& request);  ///< body without the kind
start_message decode_start(std::string_view body);

std::string encode_cancel(std::uint64_t id);
std::uint64_t decode_cancel(std::string_view message);

/// Launcher to server: the largest processes of a browser were ended, because all together passed its limit of memory.
std::string encode_largest_ended(std::uint64_t id);

std::string encode_ended(const ended_message& ended);
ended_message decode_ended(std::string_view message);

std::string encode_end_cell(const end_cell_message& end);
end_cell_message decode_end_cell(std::string_view message);

/// Server to launcher: all processes of lasting cells stand still (`on`), or go on.
std::string encode_hold_cells(bool on);
bool decode_hold_cells(std::string_view message);

std::string encode_list_cells(std::uint64_t id);
std::uint64_t decode_list_cells(std::string_view message);

std::string encode_open_socket(const socket_request& request);
socket_request decode_open_socket(std::string_view message);

std::string encode_socket(const socket_answer& answer);
socket_answer decode_socket(std::string_view message);

/// Launcher to server: a lasting cell has these doors, sockets of its network that the server serves: datagrams at
/// 127.0.0.1:53, a listener at 127.0.0.1:first_proxy_port, and one for each port of run_request::doors; last, with
/// run_request::tools, a listener at 127.0.0.1:tools_port. Without sockets: the cell has ended.
std::string encode_doors(const cell_name& cell);
cell_name decode_doors(std::string_view message);

std::string encode_cells(const cells_message& cells);
cells_message decode_cells(std::string_view message);

/// Launcher to server, a JSON object: its facts (`hello`), and the zygote's state at each change (`prepared`):
/// {"state": on|starting|off, "detail": …}
std::string encode_text(message_kind kind, std::string_view text);
std::string decode_text(std::string_view message);

}  // namespace cmcp::sandbox
