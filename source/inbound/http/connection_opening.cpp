#include "http/connection_opening.hpp"

#include "config/http_settings.hpp"
#include "config/networks.hpp"
#include "http/forwarded_client.hpp"
#include "http/http_reply.hpp"
#include "http/proxy_header.hpp"
#include "http/refusal.hpp"

#include <array>
#include <string>

#include <sys/socket.h>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds time_for_refusal(2000);
constexpr char tls_handshake = 0x16;  // the type of a record, which begins each connection of TLS

using first_bytes = std::array<char, proxy_header::longest>;

// Of the calling thread, until its next call.
std::string_view peek(client_socket& peer)
{
    thread_local first_bytes room;
    const auto size = ::recv(peer.stream().socket().native_handle(), room.data(), room.size(), MSG_PEEK);
    return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void take(client_socket& peer, std::size_t size)
{
    first_bytes seen;
    if (size != 0) ::recv(peer.stream().socket().native_handle(), seen.data(), size, 0);
}

awaitable<bool> wait_for_bytes(client_socket& peer)
{
    auto [failed] = co_await peer.stream().socket().async_wait(stream_socket::wait_read, as_tuple);
    co_return !failed;
}

void note_bad_header(connection_context& context, const client_socket& peer)
{
    if (!context.refused_openings.may_write()) return;
    log::warning("proxy_header_refused",
                 {{"peer", peer.address()}, {"advice", "the proxy's header of the PROXY protocol breaks its rules"}});
}

// Bytes are taken from the socket as soon as it is known to be of the header, and no byte behind the header.
// Bytes that were only like its beginning become those of the first request.
awaitable<bool> read_proxy_header(client_socket& peer, connection_context& context)
{
    std::string taken;
    for (;;) {
        auto arrived = co_await wait_for_bytes(peer);
        if (!arrived) co_return false;
        const auto seen = peek(peer);
        if (seen.empty()) co_return false;
        const auto header = proxy_header::look(taken + std::string(seen));
        if (header.is == proxy_header::state::refused) note_bad_header(context, peer);
        if (header.is == proxy_header::state::refused) co_return false;
        if (header.is == proxy_header::state::none) break;
        const bool whole = header.is == proxy_header::state::read;
        const auto size = whole ? header.size - taken.size() : seen.size();
        taken.append(seen.substr(0, size));
        take(peer, size);
        if (whole) peer.set_address(header.client ? address_text(*header.client) : unknown_client);
        if (whole) co_return true;
    }
    auto& input = peer.buffer();
    input.commit(asio::buffer_copy(input.prepare(taken.size()), asio::buffer(taken)));
    co_return true;
}

// For a person or a program that has written http:// where https:// is meant.
awaitable<> refuse_plain_http(client_socket& peer)
{
    auto reply = error_reply(400, "This port speaks HTTPS: use an address that begins with https://.");
    reply.body = refusal_body(reply, false);
    auto text = reply_head(reply.status, reply.fields, reply.type());
    append_field(text, "Content-Length", std::to_string(reply.body.size()));
    text += "Connection: close\r\n\r\n" + reply.body;
    auto sent = co_await peer.write(text);
    if (sent) co_await peer.close_gently(time_for_refusal);
}

awaitable<bool> become_tls(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    const bool arrived = co_await wait_for_bytes(*peer);
    if (!arrived) co_return false;
    const auto seen = peer->buffer().size() != 0 ? peer->buffered() : peek(*peer);
    if (seen.empty()) co_return false;
    const char first = seen.front();
    if (first == tls_handshake) {
        const bool admitted = co_await context->tls->admit(peer, context->config.header_timeout);
        co_return admitted;
    }
    peer->clear_deadline();
    const bool like_http = (first >= 'A' && first <= 'Z') || first == '\r';
    if (like_http) co_await refuse_plain_http(*peer);
    co_return false;
}

// While the mark lives, the end of the server ends the opening.
struct opening_mark {
    opening_mark(connection_context& context, client_socket& peer) : context_(context), peer_(&peer)
    {
        context_.openings.insert(peer_);
    }
    ~opening_mark() { context_.openings.erase(peer_); }
    opening_mark(const opening_mark&) = delete;
    opening_mark& operator=(const opening_mark&) = delete;

private:
    connection_context& context_;
    client_socket* peer_;
};

}  // namespace

awaitable<bool> open_connection(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context)
{
    if (context->stopping) co_return false;
    const opening_mark open(*context, *peer);
    peer->set_deadline(context->config.header_timeout);
    const bool speaks_tls = context->tls != nullptr && peer->address() != "unix";
    bool good = true;
    if (context->proxies.contains(peer->address())) good = co_await read_proxy_header(*peer, *context);
    if (good && speaks_tls) good = co_await become_tls(peer, context);
    peer->clear_deadline();
    co_return good && !context->stopping;
}

}  // namespace cmcp
