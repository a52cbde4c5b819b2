#include "wire/browser_host_protocol.hpp"

#include "wire/wire.hpp"

namespace cmcp::browser_host_protocol {

using sandbox::wired;

template <class Wire>
void fields(Wire& wire, wired<Wire, start_message>& start)
{
    wire(start.argv, start.memory, start.files, start.proxies);
}

template <class Wire>
void fields(Wire& wire, wired<Wire, event_message>& message)
{
    wire(message.what, message.error, message.status, message.own_sandbox, message.step);
}

std::string encode(const start_message& start) { return sandbox::encoded(start); }

start_message decode_start(std::string_view bytes) { return sandbox::decoded<start_message>(bytes); }

std::string encode(const event_message& message) { return sandbox::encoded(message); }

event_message decode_event(std::string_view bytes) { return sandbox::decoded<event_message>(bytes); }

}  // namespace cmcp::browser_host_protocol
