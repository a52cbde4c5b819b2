#include "config/settings.hpp"
#include "http/body_stream.hpp"
#include "test/cluster/cluster/two_servers.hpp"
#include "test/support/catch.hpp"

#include <atomic>
#include <mutex>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string moved_handle = "sbx_n1" + std::string(random_part);
const std::string token_of_mover = "Authorization: Bearer token-of-ann-0123456789\r\n";

/// The places of sandboxes as storage knows them.
class sandbox_paths {
public:
    void put(const std::string& sandbox, const std::string& node)
    {
        const std::lock_guard hold(lock_);
        nodes_[sandbox] = node;
    }

    std::string node_of(const std::string& sandbox) const
    {
        const std::lock_guard hold(lock_);
        const auto at = nodes_.find(sandbox);
        return at == nodes_.end() ? std::string() : at->second;
    }

private:
    mutable std::mutex lock_;
    std::map<std::string, std::string> nodes_;
};

/// A server that has sandboxes by `all`, and remembers places until it looks for them. A file holds the server's name.
class moving_server {
public:
    moving_server(std::string name, sandbox_paths& all, member_settings config, bound_address entrance)
        : name_(std::move(name)), all_(all)
    {
        member_server::parts parts;
        parts.routes = [this](router& routes) { add_routes(routes); };
        parts.moving.node_of = [this](std::string_view sandbox) { return memory_.node_of(std::string(sandbox)); };
        parts.moving.is_here = [this](const std::string& sandbox) { return all_.node_of(sandbox) == name_; };
        parts.moving.find = [this](std::string sandbox, std::string, gone_question) { return find(sandbox); };
        server_ = std::make_unique<member_server>(std::move(config), std::move(entrance), std::move(parts));
    }

    void remember(const std::string& sandbox, const std::string& node) { memory_.put(sandbox, node); }
    void answer_with(std::string node) { wrong_.put(moved_handle, std::move(node)); }  // whatever is true
    int searches() const { return searches_; }
    http_fixture& server() { return server_->server(); }

private:
    void add_routes(router& routes)
    {
        const auto named = [](const http_request& by) { return by.parameter("sandbox_id").value_or(""); };
        routes.add({.methods = {"GET", "POST"},
                    .path = "/sandbox/file",
                    .serve = [this](exchange& x) { return serve(x); },
                    .needs = scope::read,
                    .body = route_body::streamed,
                    .handle = named});
    }

    awaitable<> serve(exchange& x)
    {
        const bool is_here = all_.node_of(x.request().parameter("sandbox_id").value_or("")) == name_;
        auto reply = error_reply(404, "There is no such sandbox.");
        if (is_here && x.request().method == "GET") {
            reply = {};
            reply.content_type = "text/plain";
            reply.body = name_;
        } else if (is_here) {
            const auto size = co_await size_of_body(x);
            reply = {};
            reply.body = json::serialize(json::object{{"path", name_}, {"size", size}});
        }
        co_await x.reply(std::move(reply));
    }

    static awaitable<std::size_t> size_of_body(exchange& x)
    {
        std::size_t size = 0;
        for (;;) {
            const auto bytes = co_await x.request().stream->next();
            if (!bytes) break;
            size += bytes->size();
        }
        co_return size;
    }

    awaitable<std::string> find(std::string sandbox)
    {
        ++searches_;
        auto node = wrong_.node_of(sandbox);
        if (node.empty()) node = all_.node_of(sandbox);
        memory_.put(sandbox, node);
        co_return node;
    }

    std::string name_;
    sandbox_paths& all_;
    sandbox_paths memory_, wrong_;
    std::atomic<int> searches_{0};
    std::unique_ptr<member_server> server_;  // goes first
};

/// The sandbox was made at n1 and has moved to n2; n1 and n2 know it, n3 does not.
struct after_a_move : member_papers {
    after_a_move() : after_a_move(entrances_of({"n1", "n2", "n3"})) {}

    moving_server& at(const std::string& name) { return *servers.at(name); }

    sandbox_paths paths;
    std::map<std::string, std::unique_ptr<moving_server>> servers;

private:
    explicit after_a_move(std::map<std::string, bound_address> entrances) : member_papers(entrances)
    {
        paths.put(moved_handle, "n2");
        for (auto& [name, entrance] : entrances)
            servers[name] = std::make_unique<moving_server>(name, paths, settings_of(name), std::move(entrance));
        at("n1").remember(moved_handle, "n2");
        at("n2").remember(moved_handle, "n2");
    }
};

std::string file_request(std::string_view method, std::string_view more = {}, std::string_view body = {})
{
    return std::string(method) + " /sandbox/file?sandbox_id=" + moved_handle +
           "&file_path=a HTTP/1.1\r\nHost: localhost\r\n" + token_of_mover + std::string(more) + "\r\n" +
           std::string(body);
}

std::string upload_of(std::size_t size)
{
    const auto fields = "Content-Type: application/octet-stream\r\nContent-Length: " + std::to_string(size) + "\r\n";
    return file_request("POST", fields, std::string(size, 'x'));
}

}  // namespace

TEST_CASE("a download from a sandbox that has just moved comes from its new server, which the one of before names")
{
    after_a_move all;
    for (int i = 0; i != 3; ++i) {
        const auto answer = request(all.at("n3").server(), file_request("GET"));
        CHECK(answer.status == 200);
        CHECK(answer.body == "n2");
        CHECK(answer.field("cmcp-member-place").empty());
    }
    CHECK(all.at("n3").searches() == 0);
}

TEST_CASE("an upload to a sandbox that has just moved is whole at its new server")
{
    after_a_move all;
    constexpr std::size_t size = 3'000'000;
    const auto answer = request(all.at("n3").server(), upload_of(size));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("path") == "n2");
    CHECK(answer.parsed().at("size") == size);
}

TEST_CASE("a client that waits for 100 with its upload hears it once from the server that has the sandbox")
{
    after_a_move all;
    raw_client client(all.at("n3").server().port());
    client.send(file_request("POST", "Content-Type: text/plain\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"));
    CHECK(client.read_head().status == 100);
    client.send("ab");
    const auto answer = client.read();
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("size") == 2);
}

TEST_CASE("a sandbox that has moved here is served here, with the body of the request")
{
    after_a_move all;
    all.paths.put(moved_handle, "n3");
    all.at("n1").remember(moved_handle, "n3");
    const auto answer = request(all.at("n3").server(), upload_of(100'000));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("path") == "n3");
    CHECK(answer.parsed().at("size") == 100'000);
}

TEST_CASE("a sandbox that is nowhere is not found, wherever it is looked for")
{
    after_a_move all;
    all.paths.put(moved_handle, "");
    for (const std::string name : {"n1", "n2", "n3"}) {
        all.at("n1").remember(moved_handle, "n2");
        all.at("n2").remember(moved_handle, "n2");
        CHECK(request(all.at(name).server(), file_request("GET")).status == 404);
    }
}

TEST_CASE("a request is sent twice more after a move, and then the client is to send it again")
{
    after_a_move all;
    all.at("n2").remember(moved_handle, "n1");
    all.at("n3").answer_with("n1");
    for (const auto& sent : {file_request("GET"), upload_of(100'000)}) {
        const auto before = all.at("n3").searches();
        const auto answer = request(all.at("n3").server(), sent);
        CHECK(answer.status == 503);
        CHECK(answer.field("retry-after") == "1");
        CHECK(answer.body.find("moved to another server: send the request again") != std::string::npos);
        CHECK(all.at("n3").searches() == before + 2);
    }
}

TEST_CASE("a client does not get the answer that is for members alone")
{
    after_a_move all;
    const auto answer = request(all.at("n1").server(), file_request("GET", claim_of_root()));
    CHECK(answer.status == 200);
    CHECK(answer.body == "n2");
}
