#include "cell/cell_orders.hpp"

#include "facilities/sealed_memory.hpp"
#include "facilities/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/wire.hpp"

#include <cerrno>
#include <vector>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t room_for_body = packet_limit - 64;

// An expectation that does not fit is none.
std::string expectation(const start_message& expected)
{
    std::string body = encode_begin(expected);
    return body.size() <= room_for_body ? body : encode_begin({});
}

}  // namespace

std::string encode_program_order(const program_order& order)
{
    return encoded(cell_order::program, order.number, order.held, order.waits, order.interprets,
                   expectation(order.expected));
}

program_order decode_program_order(std::string_view rest)
{
    wire_reader in(rest);
    program_order order;
    in(order.number, order.held, order.waits, order.interprets);
    order.expected = decode_start(in.next<std::string>());
    return order;
}

std::string encode_begin_order(const begin_order& order)
{
    return encoded(cell_order::begin, order.number, order.outputs.out, order.outputs.error);
}

begin_order decode_begin_order(std::string_view rest)
{
    wire_reader in(rest);
    begin_order order;
    in(order.number, order.outputs.out, order.outputs.error);
    return order;
}

std::string encode_kill_order(std::uint32_t number) { return encoded(cell_order::kill, number); }

std::uint32_t decode_kill_order(std::string_view rest) { return wire_reader(rest).next<std::uint32_t>(); }

std::string encode_hold_order(bool on) { return encoded(cell_order::hold, on); }

bool decode_hold_order(std::string_view rest) { return wire_reader(rest).next<bool>(); }

bool send_start(int program, bool loaded, const start_message& start, std::span<const int> descriptors)
{
    const std::string body = encode_begin(start);
    if (body.size() <= room_for_body) return send_packet(program, encoded(loaded, false, body), descriptors);
    const unique_fd memory = sealed_memory("start", body);
    std::vector<int> with_body{memory.get()};
    with_body.insert(with_body.end(), descriptors.begin(), descriptors.end());
    return send_packet(program, encoded(loaded, true, std::string()), with_body);
}

arrived_start take_arrived_start(packet& message)
{
    wire_reader in(message.bytes);
    arrived_start arrived{in.next<bool>(), {}};
    const bool in_memory = in.next<bool>();
    in(arrived.body);
    if (!in_memory) return arrived;
    if (message.descriptors.empty()) throw step_failed("read the start", EBADMSG);
    arrived.body = read_memory(message.descriptors.front().get(), "read the start");
    message.descriptors.erase(message.descriptors.begin());
    return arrived;
}

}  // namespace cmcp::sandbox
