#include "wire/launcher_protocol.hpp"

#include "test/support/catch.hpp"

namespace cmcp::sandbox {

TEST_CASE("a start message survives its encoding")
{
    run_request request;
    request.argv = {"/usr/bin/bash", "-c", std::string("a\0b", 3)};
    request.working_dir = "/workspace/x";
    request.workspace = "/srv/w";
    request.environment = {{"A", "1"}, {"B", ""}};
    request.programs = {false, {"ls", "cat"}};
    request.limits.wall = std::chrono::milliseconds(1234);
    request.limits.open_files = 99;
    request.script = "x";
    request.result_channel = true;
    const auto start = decode_start(encode_start(7, true, request));
    CHECK(start.id == 7);
    CHECK(start.probe);
    CHECK(start.has_script);
    CHECK(!start.has_input);
    CHECK(start.request.argv == request.argv);
    CHECK(start.request.environment == request.environment);
    CHECK(start.request.programs.names == request.programs.names);
    CHECK(!start.request.programs.all);
    CHECK(start.request.limits.wall == request.limits.wall);
    CHECK(start.request.limits.open_files == 99);
    CHECK(start.request.result_channel);
}

TEST_CASE("an ended message survives its encoding")
{
    ended_message ended{3, {}};
    ended.result.why = cause::memory_limit;
    ended.result.exit_code = 137;
    ended.result.signal = 9;
    ended.result.denied = {"fork"};
    ended.result.cpu = std::chrono::microseconds(5);
    const auto back = decode_ended(encode_ended(ended));
    CHECK(back.id == 3);
    CHECK(back.result.why == cause::memory_limit);
    CHECK(back.result.exit_code == 137);
    CHECK(back.result.denied == ended.result.denied);
    CHECK(back.result.cpu == ended.result.cpu);
}

TEST_CASE("the order to keep an interpreter loaded survives its encoding")
{
    zygote_options options;
    options.path = "/opt/zygote";
    options.profile = "auto";
    options.waiting = 3;
    options.model.argv = {"/usr/bin/python3", "-c", "pass"};
    options.model.limits.cpu = std::chrono::seconds(9);
    const auto back = decode_prepare(encode_prepare(options));
    CHECK(back.path == options.path);
    CHECK(back.profile == options.profile);
    CHECK(back.waiting == 3);
    CHECK(back.runs == options.runs);
    CHECK(back.model.argv == options.model.argv);
    CHECK(back.model.limits.cpu == options.model.limits.cpu);
}

TEST_CASE("a message that is cut short is refused")
{
    const auto whole = encode_start(1, false, run_request{});
    CHECK_THROWS_AS(decode_start(std::string_view(whole).substr(0, whole.size() - 1)), std::runtime_error);
    CHECK_THROWS_AS(kind_of(""), std::runtime_error);
    CHECK_THROWS_AS(kind_of("\x7f"), std::runtime_error);
}

}  // namespace cmcp::sandbox
