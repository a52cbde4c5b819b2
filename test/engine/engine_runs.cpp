#include "engine/engine_backend.hpp"
#include "engine/engine_options.hpp"
#include "test/engine/scripted_engine.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fstream>
#include <utility>

using namespace cmcp;
using namespace cmcp::test;
using sandbox::cause;

namespace {

class receiver final : public sandbox::output_receiver {
public:
    explicit receiver(asio::io_context& io) : gate(io, asio::steady_timer::time_point::min()) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        (from == sandbox::stream::out ? out : err).append(bytes);
        if (received) received();
        co_await gate.async_wait(as_tuple);
    }
    void hold() { gate.expires_at(asio::steady_timer::time_point::max()); }
    void let_go() { gate.expires_at(asio::steady_timer::time_point::min()); }

    std::string out, err;
    std::function<void()> received;
    asio::steady_timer gate;
};

struct stage {
    static engine::engine_options options(const scripted_engine& engine)
    {
        engine::engine_options options;
        options.where = {engine.socket(), "Start it."};
        options.node = "node";
        options.server = "self";
        options.root = engine.folder.string();
        return options;
    }
    sandbox::run_request request(std::string image = "there")
    {
        sandbox::run_request request;
        request.image = std::move(image);
        request.sandbox = "sbx_1";
        request.argv = {"python3", "-c", "print(1)"};
        request.workspace = (engine.folder / "workspace").string();
        request.workspace_inside = "/app/results";
        std::filesystem::create_directories(request.workspace);
        return request;
    }
    sandbox::run_result run(sandbox::run_request request)
    {
        return run_coroutine(io, backend.run(std::move(request), output));
    }
    sandbox::run_result run() { return run(request()); }
    void write_inside(const std::string& target, const std::string& text)
    {
        std::ofstream(engine.mounted(target)) << text;
    }

    asio::io_context io;
    scripted_engine engine{io};
    engine::engine_backend backend{io.get_executor(), options(engine)};
    receiver output{io};
};

}  // namespace

TEST_CASE("a Podman that would use another runtime than the one that was asked for runs nothing and says what to set")
{
    stage s;
    for (const auto& [wanted, works] :
         {std::pair("runsc", false), std::pair("/usr/bin/crun", true), std::pair("", true)}) {
        auto options = stage::options(s.engine);
        options.runtime = wanted;
        engine::engine_backend backend(s.io.get_executor(), options);
        const auto result = run_coroutine(s.io, backend.run(s.request(), s.output));
        INFO(result.error);
        CHECK((result.error.find("SANDBOX_ENGINE_RUNTIME") == std::string::npos) == works);
        CHECK((result.error.find("containers.conf") == std::string::npos) == works);
        run_coroutine(s.io, backend.stop());
    }
}

TEST_CASE("a run in a container gives both streams, what it reported, and its exit code")
{
    stage s;
    s.engine.program = [&] {
        s.engine.print(frame(1, "hello ") + frame(2, "oh") + frame(1, "world"));
        s.write_inside("/run/container-mcp.report", "code 3\nmemory.peak 5000000\ncpu.stat usage_usec 1500\n");
        s.write_inside("/run/container-mcp.result", "42");
        s.engine.exit(3);
    };
    auto request = s.request();
    request.result_channel = true;
    const auto end = s.run(std::move(request));
    CHECK(end.why == cause::exited);
    CHECK(end.exit_code == 3);
    CHECK(end.result == "42");
    CHECK(end.peak_memory == 5'000'000);
    CHECK(end.cpu.count() == 1500);
    CHECK(s.output.out == "hello world");
    CHECK(s.output.err == "oh");
    run_coroutine(s.io, s.backend.stop());
    CHECK(s.engine.was_asked("DELETE /containers/c1"));
    CHECK(std::filesystem::is_empty(s.engine.folder / "engine" / "self"));
}

TEST_CASE("a container is made without network, privileges and a writable root, with labels and limits")
{
    stage s;
    auto request = s.request();
    request.script = "the script";
    request.limits.memory = 100 << 20;
    request.limits.processes = 10;
    std::string script;
    s.engine.program = [&] {
        std::getline(std::ifstream(s.engine.mounted("/run/container-mcp") + "/script"), script);
        s.engine.exit(0);
    };
    s.run(std::move(request));
    CHECK(script == "the script");
    const auto& container = s.engine.container;
    const auto& host = container.at("HostConfig").as_object();
    CHECK(container.at("User") != "0:0");
    CHECK(container.at("Labels") == json::value{{"container-mcp.node", "node"},
                                                {"container-mcp.root", s.engine.folder.string()},
                                                {"container-mcp.sandbox", "sbx_1"},
                                                {"container-mcp.server", "self"}});
    CHECK(host.at("ReadonlyRootfs") == true);
    CHECK(host.at("NetworkMode") == "none");
    CHECK(host.at("CapDrop").as_array().front() == "ALL");
    CHECK(host.at("SecurityOpt").as_array().front() == "no-new-privileges");
    CHECK(host.at("Memory") == 100 << 20);
    CHECK(host.at("MemorySwap") == 100 << 20);
    CHECK(host.at("PidsLimit") == 13);
    CHECK(host.at("Init") == true);
    CHECK(host.at("Tmpfs").as_object().contains("/tmp"));
    CHECK(host.at("Tmpfs").as_object().contains("/data"));  // the image's volume
    CHECK(s.engine.mounted("/app/results") == (s.engine.folder / "workspace").string());
    for (const auto& each : host.at("Mounts").as_array())
        CHECK(each.at("ReadOnly").as_bool() == (each.at("Target") == "/run/container-mcp"));
}

TEST_CASE("a container that runs too long is killed, and so is one that prints too much")
{
    stage s;
    auto request = s.request();
    SECTION("time")
    {
        s.engine.program = [&] { s.engine.print(frame(1, "begun")); };
        request.limits.wall = std::chrono::milliseconds(50);
        const auto end = s.run(std::move(request));
        CHECK(end.why == cause::timeout);
        CHECK(end.exit_code == 137);
        CHECK(end.peak_memory == 12'345'678);
        CHECK(s.output.out == "begun");
    }
    SECTION("output")
    {
        s.engine.program = [&] { s.engine.print(frame(1, std::string(5000, 'x')) + frame(2, "still")); };
        request.limits.output = 1000;
        const auto end = s.run(std::move(request));
        CHECK(end.why == cause::output_limit);
        CHECK(s.output.out == std::string(1000, 'x'));
        CHECK(s.output.err == "still");
    }
    CHECK(s.engine.was_asked("POST /containers/c1/kill"));
}

TEST_CASE("a run whose memory gave out says so, by the engine or by what the container counted")
{
    stage s;
    SECTION("engine")
    {
        s.engine.out_of_memory = true;
        s.engine.program = [&] { s.engine.exit(137); };
    }
    SECTION("container")
    {
        s.engine.program = [&] {
            s.write_inside("/run/container-mcp.report", "code 1\nmemory/memory.oom_control oom_kill 2\n");
            s.engine.exit(1);
        };
    }
    CHECK(s.run().why == cause::memory_limit);
}

TEST_CASE("a program that a signal ended, and one that could start no more processes, say so")
{
    stage s;
    std::string report;
    s.engine.program = [&] {
        s.write_inside("/run/container-mcp.report", report);
        s.engine.exit(0);
    };
    report = "code 139\n";
    CHECK(s.run().signal == 11);
    report = "code 1\npids.events max 3\n";
    CHECK(s.run().why == cause::process_limit);
    report = "code 0\npids.events max 3\n";
    CHECK(s.run().why == cause::exited);
}

TEST_CASE("nothing counts as run where a layer is missing in the container")
{
    stage s;
    s.engine.program = [&] {
        s.write_inside("/run/container-mcp.report", "lacks seccomp\n");
        s.engine.exit(125);
    };
    const auto end = s.run();
    CHECK(end.why == cause::setup_failed);
    CHECK(end.error.find("seccomp") != std::string::npos);
}

TEST_CASE("an engine without limits runs nothing")
{
    stage s;
    s.engine.memory_limit = false;
    const auto end = s.run();
    CHECK(end.why == cause::setup_failed);
    CHECK(end.error.find("SANDBOX_REQUIRE") != std::string::npos);
    CHECK_FALSE(s.engine.was_asked("POST /containers/create"));
}

TEST_CASE("cancelling a run kills its container before the run ends")
{
    stage s;
    asio::cancellation_signal stop;
    bool killed_first = false;
    bool aborted = false;
    s.engine.program = [&] { s.engine.print(frame(1, "begun")); };
    s.output.received = [&] { stop.emit(asio::cancellation_type::terminal); };
    s.output.hold();  // cancellation must end the run although its receiver takes no output
    bool done = false;
    asio::co_spawn(s.io, s.backend.run(s.request(), s.output),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr failure, sandbox::run_result) {
                       killed_first = s.engine.was_asked("POST /containers/c1/kill");
                       aborted = failure != nullptr;
                       done = true;
                   }));
    while (!done && s.io.run_one_for(std::chrono::seconds(20)) != 0) {
    }
    CHECK(aborted);
    CHECK(killed_first);
}

TEST_CASE("a receiver that waits holds the container's output back")
{
    stage s;
    constexpr std::size_t all = 16 << 20;
    s.engine.program = [&] {
        s.engine.print(frame(1, std::string(all, 'x')));
        s.engine.exit(0);
    };
    s.output.hold();
    std::size_t sent_while_held = all;
    asio::steady_timer later(s.io);
    bool first = true;
    s.output.received = [&] {
        if (!std::exchange(first, false)) return;
        later.expires_after(std::chrono::milliseconds(100));
        later.async_wait([&](const boost::system::error_code&) {
            sent_while_held = s.engine.sent;
            s.output.let_go();
        });
    };
    CHECK(s.run().why == cause::exited);
    CHECK(sent_while_held < all / 4);
    CHECK(s.output.out.size() == all);
}

TEST_CASE("an engine that is not there, an image that it lacks, and its refusal are told with what to do")
{
    stage s;
    SECTION("image")
    {
        const auto end = s.run(s.request("elsewhere"));
        CHECK(end.why == cause::setup_failed);
        CHECK(end.error.find("podman pull elsewhere") != std::string::npos);
    }
    SECTION("refusal")
    {
        s.engine.refusal = "no space left on device";
        CHECK(s.run().error.find("no space left on device") != std::string::npos);
    }
    SECTION("engine")
    {
        std::filesystem::remove(s.engine.socket());
        const auto end = s.run();
        CHECK(end.error.find(s.engine.socket()) != std::string::npos);
        CHECK(end.error.find("Start it.") != std::string::npos);
        const auto layers = run_coroutine(s.io, s.backend.probe());
        CHECK(layers.at(0).is == sandbox::layer::state::off);
    }
    SECTION("no image at all") { CHECK(s.run(s.request("")).why == cause::setup_failed); }
}

TEST_CASE("a container of an engine that went away is removed when it is back")
{
    stage s;
    const auto away = s.engine.folder / "away";
    s.engine.program = [&] {
        std::filesystem::rename(s.engine.socket(), away);
        s.engine.exit(0);
    };
    CHECK(s.run().why == cause::setup_failed);
    std::filesystem::rename(away, s.engine.socket());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!s.engine.was_asked("DELETE /containers/c1") && std::chrono::steady_clock::now() < until)
        s.io.run_one_for(std::chrono::seconds(1));
    CHECK(s.engine.was_asked("DELETE /containers/c1"));
}

TEST_CASE("what a server that is gone has left is removed")
{
    stage s;
    s.engine.left.emplace_back(json::object{{"Id", "old1"}});
    s.engine.left.emplace_back(json::object{{"Id", "old2"}});
    s.engine.left.emplace_back(json::object{{"Id", "own"}, {"Labels", {{"container-mcp.server", "self"}}}});
    std::filesystem::create_directories(s.engine.folder / "engine" / "left");
    std::filesystem::create_directories(s.engine.folder / "engine" / "self");
    run_coroutine(s.io, s.backend.remove_leftovers());
    CHECK_FALSE(s.engine.was_asked("DELETE /containers/own"));
    CHECK(std::filesystem::exists(s.engine.folder / "engine" / "self"));
    CHECK(s.engine.was_asked("DELETE /containers/old1"));
    CHECK(s.engine.was_asked("DELETE /containers/old2"));
    CHECK_FALSE(std::filesystem::exists(s.engine.folder / "engine" / "left"));
}
