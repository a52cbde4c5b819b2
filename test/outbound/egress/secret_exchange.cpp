#include "test/outbound/egress/door_stage.hpp"
#include "text/encodings.hpp"

#include <set>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

using tls_stream = asio::ssl::stream<asio::ip::tcp::socket>;

const std::string hidden = "sk-live-4eC39HqLyjWDarjtT1zdp7dc", stand_in = "cmcp-secret-00112233445566778899";

/// A web server with TLS for localhost, whose secret a ticket has.
struct secret_stage : secret_source {
    explicit secret_stage(const std::string& certified = "localhost", const std::string& position = "header X-Key: {}")
        : real(certified)
    {
        to_servers->add_certificate_authority(asio::buffer(real.authority_pem));
        to_servers->set_verify_mode(asio::ssl::verify_peer);
        trusting.add_certificate_authority(asio::buffer(cell.certificate_pem()));
        trusting.set_verify_mode(asio::ssl::verify_peer);
        secret = {"KEY", read_secret_hosts("localhost:" + std::to_string(door.web.port())),
                  secret_position::read(position), hidden, stand_in};
        // The stage is the source and outlives the ticket.
        door.ticket->hold_secrets(std::shared_ptr<secret_source>(std::shared_ptr<secret_source>(), this));
    }

    bool concerns(const host& who) override { return secret.concerns(who); }
    std::shared_ptr<const target_secrets> at(const host& who, std::uint16_t port) override
    {
        if (!secret.is_for(who, port)) return nullptr;
        auto masks = std::make_shared<const secret_masks>(std::vector<held_secret>{secret});
        return std::make_shared<const target_secrets>(target_secrets{{secret}, std::move(masks)});
    }
    cell_authority& authority() override { return cell; }
    awaitable<std::shared_ptr<asio::ssl::context>> trust() override { co_return to_servers; }
    void note_use(const held_secret& used) override { uses.insert(used.name); }
    blocking_pool& pool() override { return threads; }

    /// Everything that comes back for `bytes` over TLS, until the connection ends; or why there is no TLS.
    static awaitable<std::string> talk(secret_stage* self, asio::ssl::context* trust, std::string before,
                                       std::string name, std::string bytes)
    {
        tls_stream stream(self->door.io, *trust);
        const asio::ip::tcp::endpoint door(self->door.names->address_of(name, false), self->door.web.port());
        const asio::ip::tcp::endpoint proxy(asio::ip::address_v4::loopback(), self->proxy_port);
        const auto to = before.empty() ? door : proxy;
        co_await stream.next_layer().async_connect(to, asio::use_awaitable);
        std::string reply;
        if (!before.empty()) {
            co_await asio::async_write(stream.next_layer(), asio::buffer(before), asio::use_awaitable);
            auto buffer = asio::dynamic_buffer(reply);
            co_await asio::async_read_until(stream.next_layer(), buffer, "\r\n\r\n", asio::use_awaitable);
            reply.clear();
        }
        SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
        auto [failure] = co_await stream.async_handshake(asio::ssl::stream_base::client, as_tuple);
        if (failure) co_return failure.message();
        co_await asio::async_write(stream, asio::buffer(bytes), asio::use_awaitable);
        co_await asio::async_read(stream, asio::dynamic_buffer(reply), asio::transfer_all(), as_tuple);
        co_return reply;
    }
    std::string ask(const std::string& bytes)
    {
        return run_coroutine(door.io, talk(this, &trusting, "", "localhost", bytes));
    }
    std::string get(const std::string& path, const std::string& more = "X-Key: " + stand_in + "\r\n") const
    {
        return door.get(path, more + "Connection: close\r\n");
    }
    const std::string& last() const { return door.web.requests.back(); }

    test_ca real;
    asio::ssl::context serving = real.server_context();
    std::shared_ptr<asio::ssl::context> to_servers =
        std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    asio::ssl::context trusting{asio::ssl::context::tls_client};
    cell_authority cell{"sbx_test"};
    held_secret secret;
    std::set<std::string> uses;
    std::uint16_t proxy_port = 0;
    door_stage door{{"localhost", "two.localhost"}, {"127.0.0.1", "::1"}, &serving};
    blocking_pool threads{2};
};

std::string without_length(const std::string& body, const std::string& more = {})
{
    return "HTTP/1.1 200 OK\r\n" + more + "Transfer-Encoding: chunked\r\n\r\n" + body;
}

std::string one_chunk(const std::string& text)
{
    std::ostringstream size;
    size << std::hex << text.size();
    return size.str() + "\r\n" + text + "\r\n";
}

std::string one_byte_chunks(const std::string& text)
{
    std::string all;
    for (const char c : text) all += std::string("1\r\n") + c + "\r\n";
    return all + "0\r\n\r\n";
}

}  // namespace

TEST_CASE("the guard puts a secret into its header, and the client has the placeholder alone")
{
    secret_stage s;
    s.door.web.on("/", send(answer("you sent " + hidden + ".", "text/plain", "X-Echo: " + hidden + "\r\n")));
    const auto reply = s.ask(s.get("/"));
    CHECK(has(s.last(), "X-Key: " + hidden + "\r\n"));
    CHECK(has(s.last(), "Accept-Encoding: identity\r\n"));
    CHECK(has(s.last(), "Host: " + s.door.authority() + "\r\n"));
    CHECK(has(reply, "you sent " + stand_in + "."));
    CHECK(has(reply, "X-Echo: " + stand_in));
    CHECK(has(reply, "Content-Length: 42"));
    CHECK_FALSE(has(reply, hidden));
    CHECK(s.uses == std::set<std::string>{"KEY"});
}

TEST_CASE("a placeholder elsewhere stays harmless text, and a request without one passes")
{
    secret_stage s;
    s.door.web.on("/", send(answer("fine")));
    for (const auto& more : {"X-Other: " + stand_in + "\r\n", "X-Key: a" + stand_in + "\r\n",
                             std::string("X-Key: own\r\n"), std::string()}) {
        CHECK(has(s.ask(s.get("/?a=" + stand_in, more)), "fine"));
        CHECK_FALSE(has(s.last(), hidden));
        CHECK(has(s.last(), "/?a=" + stand_in));
    }
    const std::string body = "POST / HTTP/1.1\r\nHost: " + s.door.authority() +
                             "\r\nConnection: close\r\nContent-Length: 32\r\n\r\n" + stand_in;
    CHECK(has(s.ask(body), "fine"));
    CHECK(has(s.last(), "\r\n\r\n" + stand_in));
    CHECK(s.uses.empty());
}

TEST_CASE("an answer in chunks of one byte, with a secret across all borders, is masked")
{
    secret_stage s;
    const std::string text = "a " + hidden + " b " + base64_encode(hidden) + " c";
    s.door.web.on("/", {{step::kind::drip, without_length(one_byte_chunks(text)), std::chrono::milliseconds(0)}});
    const auto reply = s.ask(s.get("/"));
    std::string body;
    for (auto at = reply.find("\r\n\r\n") + 4; at < reply.size();) {
        const auto size = std::stoul(reply.substr(at), nullptr, 16);
        at = reply.find("\r\n", at) + 2;
        body += reply.substr(at, size);
        at += size + 2;
    }
    CHECK(body == "a " + stand_in + " b " + base64_encode(stand_in) + " c");
}

TEST_CASE("an answer that cannot be looked into is refused")
{
    secret_stage s;
    for (const auto* coding : {"gzip", "br", "deflate", "zstd", "x-own", "identity, gzip"}) {
        s.door.web.on("/", send(answer("??????", "text/plain", std::string("Content-Encoding: ") + coding + "\r\n")));
        const auto reply = s.ask(s.get("/"));
        CHECK(has(reply, "502"));
        CHECK(has(reply, "X-Egress-Rule: encoding"));
        CHECK_FALSE(has(reply, "??????"));
    }
    s.door.web.on("/", send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\n???\r\n0\r\n\r\n"));
    CHECK(has(s.ask(s.get("/")), "X-Egress-Rule: encoding"));
    s.door.web.on("/", send(answer("", "text/plain", "X-Large: " + std::string(70000, 'x') + "\r\n")));
    const auto reply = s.ask(s.get("/"));
    CHECK(has(reply, "502"));
    CHECK(has(reply, "more than 64 KiB"));
}

TEST_CASE("requests that are for another host, or could be read in two ways, do not leave")
{
    secret_stage s;
    s.door.web.on("/", send(answer("fine")));
    const std::string key = "X-Key: " + stand_in + "\r\n", own = "Host: " + s.door.authority() + "\r\n";
    for (const auto& bytes :
         {"GET / HTTP/1.1\r\nHost: two.localhost\r\n" + key + "\r\n", "GET / HTTP/1.1\r\n" + key + "\r\n",
          "GET / HTTP/1.1\r\n" + own + "Host: two.localhost\r\n" + key + "\r\n",
          "GET http://two.localhost/ HTTP/1.1\r\n" + own + key + "\r\n",
          "POST / HTTP/1.1\r\n" + own + key + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "POST / HTTP/1.1\r\n" + own + key + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n1234",
          "POST / HTTP/1.1\r\n" + own + key + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
          "CONNECT two.localhost:443 HTTP/1.1\r\n" + own + key + "\r\n",
          "GET / HTTP/1.1\r\n" + own + "X-Key : " + stand_in + "\r\n\r\n",
          std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}) {
        const auto reply = s.ask(bytes);
        INFO(bytes);
        CHECK((has(reply, "HTTP/1.1 403") || has(reply, "HTTP/1.1 400")));
        CHECK_FALSE(has(reply, hidden));
    }
    CHECK(s.door.web.requests.empty());
}

TEST_CASE("several requests go through one connection, and one for another host ends it")
{
    secret_stage s;
    s.door.web.on("/", send(answer("fine")));
    const std::string key = "X-Key: " + stand_in + "\r\n", one = s.door.get("/", key);
    const auto reply = s.ask(one + one + "GET / HTTP/1.1\r\nHost: two.localhost\r\n" + key + "\r\n" + one);
    CHECK(has(reply, "fineHTTP/1.1 200"));
    CHECK(has(reply, "X-Egress-Rule: host"));
    CHECK(s.door.web.requests.size() == 2);
    CHECK(s.door.web.connections <= 2);
}

TEST_CASE("a secret reaches its host without TLS neither through a door nor through the proxy")
{
    secret_stage s;
    auto plain = s.door.client();
    plain.write(s.door.get("/", "X-Key: " + stand_in + "\r\n"));
    const auto refused = plain.read_answer();
    CHECK(has(refused, "403 Forbidden"));
    CHECK(has(refused, "use https://localhost"));
    proxy_client proxied(s.door.io, s.door.guard, *s.door.ticket);
    proxied.write(guard_stage::get("http://" + s.door.authority() + "/"));
    CHECK(has(proxied.read_answer(), "X-Egress-Rule: secret"));
    proxy_client tunnel(s.door.io, s.door.guard, *s.door.ticket);
    tunnel.write(guard_stage::connect(s.door.authority()) + s.door.get());
    CHECK(has(tunnel.read_rest(), "X-Egress-Rule: secret"));
    auto silent = s.door.client();
    silent.write("SSH-2.0-client\r\n");
    CHECK(silent.read_rest().empty());
    CHECK(s.door.web.requests.empty());
}

TEST_CASE("TLS ends in the guard through CONNECT, too, and not for hosts without a secret")
{
    secret_stage s;
    s.door.web.on("/", send(answer("over TLS " + hidden)));
    task_group tasks(s.door.io.get_executor());
    asio::ip::tcp::acceptor entrance(s.door.io, {asio::ip::address_v4::loopback(), 0});
    s.proxy_port = entrance.local_endpoint().port();
    tasks.spawn("proxy", s.door.guard.serve_door(std::move(entrance), [&] { return s.door.ticket; }));
    auto talk = secret_stage::talk(&s, &s.trusting, guard_stage::connect(s.door.authority()), "localhost", s.get("/"));
    CHECK(has(run_coroutine(s.door.io, std::move(talk)), "over TLS " + stand_in));
    CHECK(has(s.last(), hidden));
    tasks.cancel_all();
    run_coroutine(s.door.io, tasks.wait_idle(std::chrono::seconds(10)));

    s.secret.hosts = read_secret_hosts("api.test");
    s.door.web.on("/", {{step::kind::send, answer("over TLS " + hidden), {}}, {step::kind::close, {}, {}}});
    auto other = secret_stage::talk(&s, s.to_servers.get(), "", "localhost", s.get("/"));
    const auto untouched = run_coroutine(s.door.io, std::move(other));
    INFO(untouched);
    CHECK(has(untouched, "over TLS " + hidden));
    CHECK_FALSE(has(s.last(), hidden));
}

TEST_CASE("a client that does not trust the cell's authority gets nothing, and the refusal says why")
{
    secret_stage s;
    auto talk = secret_stage::talk(&s, s.to_servers.get(), "", "localhost", s.get("/"));
    CHECK(has(run_coroutine(s.door.io, std::move(talk)), "certificate verify failed"));
    s.door.io.poll();
    cell_authority another("sbx_another");
    asio::ssl::context trusts_another(asio::ssl::context::tls_client);
    trusts_another.add_certificate_authority(asio::buffer(another.certificate_pem()));
    trusts_another.set_verify_mode(asio::ssl::verify_peer);
    auto again = secret_stage::talk(&s, &trusts_another, "", "localhost", s.get("/"));
    CHECK(has(run_coroutine(s.door.io, std::move(again)), "certificate verify failed"));
    CHECK(s.door.web.requests.empty());
}

TEST_CASE("a server whose certificate is not trusted gets no secret")
{
    secret_stage s("elsewhere.test");
    s.door.web.on("/", send(answer("fine")));
    const auto reply = s.ask(s.get("/"));
    CHECK(has(reply, "502"));
    CHECK(has(reply, "its certificate is for another host"));
    CHECK(s.door.web.requests.empty());
}

TEST_CASE("HEAD, interim answers and bodies that wait for 100 come through")
{
    secret_stage s;
    s.door.web.on("/head", send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX-Echo: " + hidden + "\r\n\r\n"));
    std::string head = s.get("/head");
    head.replace(0, 3, "HEAD");
    const auto reply = s.ask(head);
    CHECK(has(reply, "Content-Length: 1000"));
    CHECK_FALSE(has(reply, hidden));
    s.door.web.on("/early", send("HTTP/1.1 103 Early Hints\r\nLink: " + hidden + "\r\n\r\n" + answer("fine")));
    CHECK(has(s.ask(s.get("/early")), "\r\n\r\nfine"));
    s.door.web.on("/post", send(answer("taken")));
    const auto posted = s.ask("POST /post HTTP/1.1\r\nHost: " + s.door.authority() +
                              "\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody");
    CHECK(posted.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"));
    CHECK(has(s.last(), "\r\n\r\nbody"));
    s.door.web.on("/none", send("HTTP/1.1 304 Not Modified\r\nETag: \"" + hidden + "\"\r\n\r\n"));
    CHECK(has(s.ask(s.get("/none")), "ETag: \"" + stand_in));
}

TEST_CASE("a request with a secret asks for no part of an answer")
{
    secret_stage s;
    s.door.web.on("/", send(answer("fine")));
    s.ask(s.get("/", "X-Key: " + stand_in + "\r\nRange: bytes=0-3\r\nIf-Range: \"x\"\r\n"));
    CHECK_FALSE(has(s.last(), "Range"));
    s.ask(s.get("/", "Range: bytes=0-3\r\n"));
    CHECK_FALSE(has(s.last(), "Range"));
    for (const auto* status : {"206 Partial Content", "226 IM Used"}) {
        s.door.web.on("/part", send(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 4\r\n\r\npart"));
        const auto refused = s.ask(s.get("/part", "x-ms-range: bytes=0-3\r\n"));
        CHECK(has(refused, "X-Egress-Rule: range"));
        CHECK_FALSE(has(refused, "\r\n\r\npart"));
    }
}

TEST_CASE("the records of an answer are the same for every secret of a length, whatever the host repeats of it")
{
    const std::string other = "xq-dead-9zWbR81mTknYVfoeuuQ0aep5";
    REQUIRE(other.size() == hidden.size());
    std::vector<std::string> seen;
    for (const auto& value : {hidden, other}) {
        secret_stage s;
        s.secret.value = value;
        std::string text;
        for (std::size_t size = 1; size < hidden.size(); ++size)
            for (const auto& part : {hidden.substr(0, size), hidden.substr(hidden.size() - size)})
                text +=
                    part + "\n" + base64_encode(part) + " " + hex_text(part) + "{" + part + "}\r\n\r\n" + part + ";";
        for (const auto& body : {text, std::string(100'000, '#') + hidden.substr(0, 20)}) {
            std::vector<step> steps{{step::kind::send, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", {}}};
            steps.push_back({step::kind::send, one_chunk(body.substr(0, 3000)), {}});
            steps.push_back({step::kind::send, one_chunk(body.substr(3000)) + "0\r\n\r\n", {}});
            s.door.web.on("/stored", steps);
            const auto reply = s.ask(s.get("/stored"));
            CHECK(has(reply, hidden.substr(0, 20)));
            seen.push_back(reply.substr(reply.find("\r\n\r\n")));
        }
    }
    CHECK((seen[0] == seen[2]));
    CHECK((seen[1] == seen[3]));
}

TEST_CASE("a WebSocket goes on, still masked")
{
    secret_stage s;
    s.door.web.on("/ws", send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Sec-WebSocket-Accept: " +
                              hidden + "\r\n\r\n\x81\x22<" + hidden + ">"));
    s.door.web.on("/end", {{step::kind::close, {}, {}}});
    const std::string upgrade =
        "X-Key: " + stand_in +
        "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n";
    const auto reply = s.ask(s.door.get("/ws", upgrade) + s.door.get("/end"));
    CHECK(has(s.door.web.requests.front(), "X-Key: " + hidden));
    CHECK_FALSE(has(s.door.web.requests.front(), "permessage-deflate"));
    CHECK(has(reply, "101 Switching Protocols"));
    CHECK(has(reply, "\x81\x22<" + stand_in + ">"));
    CHECK_FALSE(has(reply, hidden));
}

TEST_CASE("a secret that a WebSocket splits over frames is masked, and a ping in between stays where it is")
{
    secret_stage s;
    const std::string mask(stand_in), first = hidden.substr(0, 5), second = hidden.substr(5);
    const std::string start = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    const std::string frames =
        std::string("\x01\x05") + first + "\x89\x02hi" + "\x80" + static_cast<char>(second.size() + 1) + second + "!";
    s.door.web.on("/ws", send(start + frames));
    s.door.web.on("/end", {{step::kind::close, {}, {}}});
    const auto reply = s.ask(s.door.get("/ws", "Upgrade: websocket\r\nConnection: Upgrade\r\n") + s.door.get("/end"));
    CHECK(has(reply, std::string("\x01\x05") + mask.substr(0, 5) + "\x89\x02hi\x80" +
                         static_cast<char>(second.size() + 1) + mask.substr(5) + "!"));
}

TEST_CASE("a WebSocket with an extension, or of frames that are none, is ended before a secret passes")
{
    secret_stage s;
    const std::string upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    const std::string start = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    s.door.web.on("/ws", send(start + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n\xc1\x05hello"));
    auto reply = s.ask(s.door.get("/ws", upgrade));
    CHECK(has(reply, "502 Bad Gateway"));
    CHECK_FALSE(has(reply, "hello"));
    s.door.web.on("/ws", send(start + "\r\n\xc1\x05hello"));
    reply = s.ask(s.door.get("/ws", upgrade));
    CHECK(has(reply, "101 Switching Protocols"));
    CHECK_FALSE(has(reply, "hello"));
}

TEST_CASE("an answer that is cut off ends the client's connection without its end")
{
    secret_stage s;
    s.door.web.on("/", {{step::kind::send, without_length("7\r\nhello\n\n\r\n"), {}}, {step::kind::close, {}, {}}});
    const auto reply = s.ask(s.get("/"));
    CHECK(has(reply, "hello"));
    CHECK_FALSE(has(reply, "0\r\n\r\n"));
    s.door.web.on("/", {{step::kind::close, {}, {}}});
    CHECK(has(s.ask(s.get("/")), "502"));
}
