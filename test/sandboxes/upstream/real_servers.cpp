#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/program/tools/sandbox_support.hpp"
#include "test/sandboxes/upstream/upstream_stage.hpp"
#include "upstream/upstream_servers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <sstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string sdk_script = std::string(CMCP_SOURCE_DIR) + "/test/sandboxes/upstream/sdk_server.mjs";

// The packages of test/clients, where they are installed.
std::string packages()
{
    const char* named = ::getenv("CMCP_TEST_PACKAGES");
    const std::string folder = named != nullptr ? named : CMCP_SOURCE_DIR "/test/clients/node_modules";
    if (std::filesystem::exists(folder + "/@modelcontextprotocol/sdk") && std::filesystem::exists("/usr/bin/node"))
        return folder;
    std::cout << "not tested: test/clients has no packages, or /usr/bin/node is missing\n";
    return {};
}

// The SDK with the packages that a server over standard input and output needs.
void copy_packages(const std::filesystem::path& from, const std::filesystem::path& to)
{
    constexpr auto everything = std::filesystem::copy_options::recursive;
    for (const char* name : {"@modelcontextprotocol/sdk", "zod", "zod-to-json-schema", "ajv", "ajv-formats",
                             "fast-deep-equal", "fast-uri", "json-schema-traverse", "require-from-string"}) {
        std::filesystem::create_directories((to / name).parent_path());
        std::filesystem::copy(from / name, to / name, everything);
    }
}

/// The SDK's server over HTTP, until the end of this.
class sdk_process {
public:
    explicit sdk_process(const std::string& folder)
    {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        const unique_fd read_end(ends[0]), write_end(ends[1]);
        child_ = ::fork();
        if (child_ == 0) {
            ::dup2(write_end.get(), 1);
            ::execl("/usr/bin/node", "node", sdk_script.c_str(), "http", folder.c_str(), nullptr);
            ::_exit(127);
        }
        for (char c = 0; ::read(read_end.get(), &c, 1) == 1 && c != '\n';) port_ += c;
    }
    sdk_process(const sdk_process&) = delete;
    sdk_process& operator=(const sdk_process&) = delete;
    ~sdk_process()
    {
        ::kill(child_, SIGKILL);
        collect_child(child_);
    }

    std::string url() const { return "http://127.0.0.1:" + port_ + "/mcp"; }

private:
    pid_t child_ = -1;
    std::string port_;
};

upstream_entry entry_at(std::string url)
{
    upstream_entry one;
    one.name = "real";
    one.url = std::move(url);
    one.timeout = std::chrono::seconds(20);
    return one;
}

void check_sdk_tools(asio::io_context& io, upstream_servers& servers)
{
    const auto tools = run_coroutine(io, servers.tools(""), std::chrono::seconds(60));
    REQUIRE(tools.size() == 4);
    CHECK(tools[0].name == "greet");
    CHECK(tools[0].title == "Greeting");
    CHECK(tools[0].read_only);
    std::vector<double> steps;
    const auto progress = [&](const upstream_progress& step) { steps.push_back(step.progress); };
    auto result = run_coroutine(io, servers.call("", "real", "greet", {}, {}));
    CHECK(result == parsed(R"({"content":[{"type":"text","text":"hello from the SDK"}]})"));
    result = run_coroutine(io, servers.call("", "real", "count", {}, progress));
    CHECK(steps == std::vector<double>{1, 2, 3});
    result = run_coroutine(io, servers.call("", "real", "fail", {}, {}));
    CHECK(flag_of(result, "isError"));
    // The server says that its tools changed.
    result = run_coroutine(io, servers.call("", "real", "grow", {}, {}));
    REQUIRE(eventually(io, [&] { return run_coroutine(io, servers.tools("")).size() == 5; }));
}

}  // namespace

TEST_CASE("tools of this server are called by another one, in 2026-07-28")
{
    http_fixture server;
    asio::io_context io;
    blocking_pool pool;
    no_backend backend;
    settings config;
    config.upstreams = {entry_at("http://127.0.0.1:" + std::to_string(server.port()) + "/mcp")};
    upstream_servers servers(io.get_executor(), config, backend, pool, nullptr);
    const auto tools = run_coroutine(io, servers.tools(""));
    CHECK(std::ranges::any_of(tools, [](const auto& each) { return each.name == "echo"; }));
    const auto result = run_coroutine(io, servers.call("", "real", "echo", {{"text", "hello"}}, {}));
    CHECK(text_of(result.at("content").at(0).as_object(), "text").find("hello") != std::string::npos);
    CHECK(servers.states()[0].protocol == "2026-07-28");
    run_coroutine(io, servers.stop());
}

TEST_CASE("a cancelled call of a real server is cancelled there")
{
    http_fixture server;
    asio::io_context io;
    blocking_pool pool;
    no_backend backend;
    settings config;
    config.upstreams = {entry_at("http://127.0.0.1:" + std::to_string(server.port()) + "/mcp")};
    config.upstreams[0].timeout = std::chrono::seconds(1);
    upstream_servers servers(io.get_executor(), config, backend, pool, nullptr);
    CHECK_THROWS_AS(run_coroutine(io, servers.call("", "real", "wait", {}, {})), upstream_problem);
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
    run_coroutine(io, servers.stop());
}

TEST_CASE("a server of the TypeScript SDK is spoken to over HTTP")
{
    const auto folder = packages();
    if (folder.empty()) return;
    const sdk_process server(folder);
    asio::io_context io;
    blocking_pool pool;
    no_backend backend;
    settings config;
    config.upstreams = {entry_at(server.url())};
    upstream_servers servers(io.get_executor(), config, backend, pool, nullptr);
    check_sdk_tools(io, servers);
    CHECK(servers.states()[0].protocol == "2025-11-25");
    run_coroutine(io, servers.stop());
}

TEST_CASE("a server of the TypeScript SDK is spoken to over standard input and output")
{
    const auto folder = packages();
    if (folder.empty()) return;
    std::ostringstream script;
    script << std::ifstream(sdk_script).rdbuf();
    auto config = all_programs();
    upstream_entry entry;
    entry.name = "real";
    entry.command = {"node", "--input-type=module", "-e", script.str(), "stdio", "/app/results/node_modules"};
    config.upstreams = {entry};
    sandbox_stage stage(config);
    caller who;
    who.principal = upstream_servers::principal;
    new_sandbox wanted{upstream_servers::sandbox_name("real")};
    const auto sandbox = run_coroutine(stage.io, stage.all->sandboxes->create(who, std::move(wanted)));
    copy_packages(folder, stage.files_of(sandbox.id) / "node_modules");
    check_sdk_tools(stage.io, *stage.all->upstreams);
}
