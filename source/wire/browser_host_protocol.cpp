#include "wire/browser_host_protocol.hpp"

#include "wire/wire.hpp"

namespace cmcp::browser_host_protocol {

std::string encode(const start_message& start)
{
    sandbox::wire_writer out;
    out.texts(start.argv);
    out.number(start.memory);
    out.number(start.files);
    out.number(start.proxies);
    return out.take();
}

start_message decode_start(std::string_view bytes)
{
    sandbox::wire_reader in(bytes);
    start_message start;
    in.texts(start.argv);
    start.memory = in.number<std::uint64_t>();
    start.files = in.number<std::uint64_t>();
    start.proxies = in.number<std::uint32_t>();
    return start;
}

std::string encode(const event_message& message)
{
    sandbox::wire_writer out;
    out.number(static_cast<char>(message.what));
    out.number<std::int32_t>(message.error);
    out.number<std::int32_t>(message.status);
    out.number<char>(message.own_sandbox ? 1 : 0);
    out.text(message.step);
    return out.take();
}

event_message decode_event(std::string_view bytes)
{
    sandbox::wire_reader in(bytes);
    event_message message;
    message.what = static_cast<event>(in.number<char>());
    message.error = in.number<std::int32_t>();
    message.status = in.number<std::int32_t>();
    message.own_sandbox = in.number<char>() != 0;
    message.step = in.text();
    return message;
}

}  // namespace cmcp::browser_host_protocol
