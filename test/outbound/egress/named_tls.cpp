#include "test/outbound/egress/door_stage.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

using tls_stream = asio::ssl::stream<asio::ip::tcp::socket>;

/// A web server with TLS for localhost behind a door.
struct tls_door {
    explicit tls_door(const std::string& certified = "localhost") : authority(certified)
    {
        trusting.add_certificate_authority(asio::buffer(authority.authority_pem));
        trusting.set_verify_mode(asio::ssl::verify_peer);
        door.web.on("/", send(answer("over TLS")));
    }

    /// The answer to a request after a handshake for `server_name`, or why the handshake failed.
    static awaitable<std::string> exchange(tls_door* self, asio::ip::tcp::endpoint to, std::string before,
                                           std::string server_name)
    {
        tls_stream stream(self->door.io, self->trusting);
        co_await stream.next_layer().async_connect(to, asio::use_awaitable);
        std::string reply;
        if (!before.empty()) {
            co_await asio::async_write(stream.next_layer(), asio::buffer(before), asio::use_awaitable);
            auto buffer = asio::dynamic_buffer(reply);
            co_await asio::async_read_until(stream.next_layer(), buffer, "\r\n\r\n", asio::use_awaitable);
            if (!has(reply, "200 OK")) co_return reply;
        }
        SSL_set_tlsext_host_name(stream.native_handle(), server_name.c_str());
        auto [failure] = co_await stream.async_handshake(asio::ssl::stream_base::client, as_tuple);
        if (failure) co_return failure.message();
        const std::string request = "GET / HTTP/1.1\r\nHost: hidden\r\n\r\n";
        co_await asio::async_write(stream, asio::buffer(request), asio::use_awaitable);
        reply.clear();
        co_await asio::async_read_until(stream, asio::dynamic_buffer(reply), "over TLS", as_tuple);
        co_return reply;
    }
    std::string ask(const std::string& server_name)
    {
        const asio::ip::tcp::endpoint to(door.names->address_of("localhost", false), door.web.port());
        return run_coroutine(door.io, exchange(this, to, "", server_name));
    }
    std::string ask_through_proxy(const std::string& target, const std::string& server_name)
    {
        task_group tasks(door.io.get_executor());
        asio::ip::tcp::acceptor entrance(door.io, {asio::ip::address_v4::loopback(), 0});
        const auto to = entrance.local_endpoint();
        tasks.spawn("proxy", door.guard.serve_door(std::move(entrance), [this] { return door.ticket; }));
        auto reply = run_coroutine(door.io, exchange(this, to, guard_stage::connect(target), server_name));
        tasks.cancel_all();
        run_coroutine(door.io, tasks.wait_idle(std::chrono::seconds(10)));
        return reply;
    }

    test_ca authority;
    asio::ssl::context serving = authority.server_context();
    asio::ssl::context trusting{asio::ssl::context::tls_client};
    door_stage door{{"localhost", "two.localhost"}, {"127.0.0.1", "::1"}, &serving};
};

}  // namespace

TEST_CASE("TLS goes through a door to the server that the handshake names")
{
    tls_door s;
    CHECK(has(s.ask("localhost"), "over TLS"));
    CHECK(has(s.ask("two.localhost"), "unrecognized name"));
    REQUIRE(s.door.ticket->refusals().size() == 1);
    CHECK(s.door.last_rule() == "server name");
    CHECK(has(s.door.ticket->refusals()[0].sentence, "the TLS handshake is for two.localhost"));
    CHECK(s.door.web.connections == 1);
}

namespace {

// Writes another server name into the second ClientHello.
void change_name(int writes, int, int type, const void* bytes, std::size_t size, SSL* of, void* name)
{
    constexpr int handshake = 22, hello = 1;
    const bool is_hello = type == handshake && size != 0 && *static_cast<const unsigned char*>(bytes) == hello;
    if (writes != 0 && is_hello) SSL_set_tlsext_host_name(of, static_cast<const char*>(name));
}

}  // namespace

TEST_CASE("the server name after a HelloRetryRequest is judged like the first")
{
    tls_door s;
    SSL_CTX_set1_groups_list(s.serving.native_handle(), "P-384");
    SSL_CTX_set1_groups_list(s.trusting.native_handle(), "X25519:P-384");
    CHECK(has(s.ask("localhost"), "over TLS"));  // the client's key share is not one that the server takes
    CHECK(s.door.ticket->refusals().empty());
    SSL_CTX_set_msg_callback(s.trusting.native_handle(), change_name);
    std::string same = "localhost", other = "two.localhost";
    SSL_CTX_set_msg_callback_arg(s.trusting.native_handle(), same.data());
    CHECK(has(s.ask("localhost"), "over TLS"));
    SSL_CTX_set_msg_callback_arg(s.trusting.native_handle(), other.data());
    CHECK_FALSE(has(s.ask("localhost"), "over TLS"));
    CHECK(s.door.last_rule() == "server name");
    CHECK(has(s.door.ticket->refusals()[0].sentence, "the TLS handshake is for two.localhost"));
    CHECK_FALSE(has(s.ask_through_proxy(s.door.authority("localhost"), "localhost"), "over TLS"));
    CHECK(s.door.ticket->refusals().size() == 2);
}

TEST_CASE("handshakes of TLS 1.2 and of either side's choice go through a door")
{
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        tls_door s;
        SSL_CTX_set_max_proto_version(s.trusting.native_handle(), version);
        CHECK(has(s.ask("localhost"), "over TLS"));
        CHECK(s.door.ticket->refusals().empty());
    }
}

TEST_CASE("nothing of a handshake leaves before the name was read")
{
    door_stage s;
    const std::string hello = client_hello("two.localhost");
    const auto refusal_of = [&](const std::string& bytes) {
        auto client = s.client();
        for (const char byte : bytes) {
            client.write({byte});
            s.io.poll();
        }
        return client.read_rest();
    };
    CHECK(refusal_of(hello) == alert_of(unrecognized_name_alert));
    CHECK(refusal_of(in_records(hello, 1)) == alert_of(unrecognized_name_alert));
    CHECK(refusal_of(client_hello("")) == alert_of(unrecognized_name_alert));
    CHECK(has(s.ticket->refusals().back().sentence, "names no server (SNI)"));
    CHECK(refusal_of(hello_with(names_extension("localhost", "two.localhost"))) == alert_of(unrecognized_name_alert));
    auto stops = s.client();
    stops.write(client_hello("localhost").substr(0, 100));
    stops.half_close();
    CHECK(stops.read_rest().empty());
    CHECK(s.web.connections == 0);
}

TEST_CASE("a ticket that is held to names judges what goes through CONNECT")
{
    tls_door s;
    const std::string one = s.door.authority("localhost");
    CHECK(has(s.ask_through_proxy(one, "localhost"), "over TLS"));
    CHECK(has(s.ask_through_proxy(one, "two.localhost"), "unrecognized name"));
    CHECK(s.door.last_rule() == "server name");
    for (const auto* address : {"127.0.0.1", "[::1]", "127.77.0.1", "198.18.0.1"}) {
        const auto reply = s.ask_through_proxy(s.door.authority(address), "localhost");
        CHECK(has(reply, "403 Forbidden"));
        CHECK(has(reply, "X-Egress-Rule: network"));
    }
}

TEST_CASE("plain HTTP through CONNECT is held to the name, and other protocols to a named port")
{
    door_stage s;
    s.web.on("/", send(answer("body")));
    const auto proxied = [&](const std::string& bytes) {
        proxy_client client(s.io, s.guard, *s.ticket);
        client.write(bytes);
        client.half_close();
        return client.read_rest();
    };
    const std::string connect = guard_stage::connect(s.authority());
    CHECK(has(proxied(connect + s.get()), "\r\n\r\nbody"));
    CHECK(s.web.connections == 1);
    const std::string other = "GET / HTTP/1.1\r\nHost: two.localhost\r\n\r\n";
    CHECK(has(proxied(connect + other), "X-Egress-Rule: host"));
    CHECK_FALSE(has(proxied(connect + "SSH-2.0-x\r\n"), "403"));
    CHECK(s.last_rule() == "protocol");
    CHECK(has(proxied(connect + guard_stage::connect(s.authority("two.localhost"))), "X-Egress-Rule: host"));
    CHECK(has(proxied(guard_stage::get("http://" + s.authority("127.0.0.1") + "/")), "X-Egress-Rule: network"));
    CHECK(has(proxied(guard_stage::get("http://" + s.authority() + "/")), "\r\n\r\nbody"));
    CHECK(s.web.requests.size() == 2);
}
