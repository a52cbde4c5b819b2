#include "engine/container_output.hpp"
#include "engine/container_spec.hpp"
#include "engine/engine_options.hpp"
#include "test/engine/scripted_engine.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::engine;

TEST_CASE("frames are taken apart wherever the bytes are cut")
{
    const std::string bytes =
        test::frame(1, "abc") + test::frame(2, "") + test::frame(2, std::string(300, 'x')) + test::frame(1, "d");
    for (std::size_t cut = 1; cut < 20; ++cut) {
        output_frames frames;
        std::string out, err;
        for (std::size_t at = 0; at < bytes.size(); at += cut) {
            std::string_view rest = std::string_view(bytes).substr(at, cut);
            while (const auto piece = frames.next(rest))
                (piece->first == sandbox::stream::out ? out : err) += piece->second;
        }
        CHECK(out == "abcd");
        CHECK(err == std::string(300, 'x'));
        CHECK(frames.between_frames());
    }
}

TEST_CASE("what is no frame is refused")
{
    output_frames frames;
    std::string_view bytes = "HTTP/1.1 200 OK";
    CHECK_THROWS_AS(frames.next(bytes), engine_error);
}

TEST_CASE("a report is read in the names of both versions of cgroups, whatever else is in it")
{
    const auto two = read_report(
        "code 7\nmemory.events low 0\nmemory.events oom_kill 1\nmemory.peak 900\npids.events max 0\ncpu.stat "
        "usage_usec 12\nx");
    CHECK(two.code == 7);
    CHECK(two.out_of_memory);
    CHECK_FALSE(two.out_of_processes);
    CHECK(two.peak_memory == 900);
    CHECK(two.cpu.count() == 12);
    const auto one = read_report(
        "code 0\nmemory/memory.oom_control oom_kill 0\npids/pids.events max 2\ncpuacct/cpuacct.usage 12000\n");
    CHECK_FALSE(one.out_of_memory);
    CHECK(one.out_of_processes);
    CHECK(one.cpu.count() == 12);
    CHECK_FALSE(read_report("").code);
    CHECK(read_report("lacks limits\n").lacks == "limits");
}

TEST_CASE("the engine is found by its name, and one that is not there has advice that fits")
{
    CHECK(find_engine("none", true, "/run/user/0").socket.empty());
    CHECK(find_engine("podman", true, "/run/user/0").socket == "/run/podman/podman.sock");
    CHECK(find_engine("podman", false, "/run/user/7").socket == "/run/user/7/podman/podman.sock");
    CHECK(find_engine("podman", false, "/run/user/7").advice.find("systemctl --user start podman.socket") !=
          std::string::npos);
    CHECK(find_engine("docker", false, "/run/user/7").socket == "/run/docker.sock");
    CHECK(find_engine("/x/y.sock", false, "").socket == "/x/y.sock");
}

TEST_CASE("programs in containers are never root, but where root is the server's own user")
{
    engine_facts engine;
    CHECK(choose_user(engine, 0, 0).name == "199999:199999");
    CHECK(choose_user(engine, 0, 0).owner == 199'999);
    CHECK(choose_user(engine, 1000, 100).name == "1000:100");
    CHECK_FALSE(choose_user(engine, 1000, 100).owner);
    engine.rootless = true;
    CHECK(choose_user(engine, 1000, 100).name == "0:0");
    engine.podman = true;
    CHECK(choose_user(engine, 1000, 100).name == "1000:100");
    CHECK(choose_user(engine, 1000, 100).user_namespace == "keep-id");
}

TEST_CASE("a program gets its descriptors and its arguments as they are")
{
    sandbox::run_request request;
    request.argv = {"python3", "-c", "it's \"$HOME\""};
    request.script = "x";
    request.result_channel = true;
    const auto command = container_command(request, "limits", 1000);
    REQUIRE(command.size() == 7);
    CHECK(command[0] == "/bin/sh");
    CHECK(command[2].find("3< /run/container-mcp/script 4> /run/container-mcp.result") != std::string::npos);
    CHECK(command[6] == "it's \"$HOME\"");
    request.channel = std::make_shared<unique_fd>();
    const auto connected = container_command(request, "limits", 1000);
    CHECK(connected[4] == "python3");
    CHECK(connected[7].find("link.connect") != std::string::npos);
    CHECK(connected.back() == "it's \"$HOME\"");
}

TEST_CASE("a program in a container has one stream for output and errors where it is asked for")
{
    sandbox::run_request request;
    request.argv = {"python3"};
    CHECK(container_command(request, "limits", 1000)[2].find("2>&1") == std::string::npos);
    request.merged = true;
    CHECK(container_command(request, "limits", 1000)[2].find("\"$@\" 2>&9 9>&- 2>&1") != std::string::npos);
}
