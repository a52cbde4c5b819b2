#include "wire/launcher_protocol.hpp"
#include "wire/launcher_options.hpp"

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
    request.browser = {4, "{}", true, true};
    request.doors = {80, 443, 65535};
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
    CHECK(start.request.browser.ports == 4);
    CHECK(start.request.browser.policy == "{}");
    CHECK(start.request.browser.trial);
    CHECK_FALSE(start.request.browser.may_lack_own_sandbox);
    CHECK(start.request.doors == request.doors);
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

TEST_CASE("whether cells are held survives its encoding")
{
    for (const bool on : {true, false}) {
        const auto message = encode_hold_cells(on);
        CHECK(kind_of(message) == message_kind::hold_cells);
        CHECK(decode_hold_cells(message) == on);
    }
}

TEST_CASE("a message of doors survives its encoding")
{
    const cell_name cell{"someone", "one"};
    const std::string message = encode_doors(cell);
    CHECK(kind_of(message) == message_kind::doors);
    CHECK(decode_doors(message) == cell);
    CHECK_THROWS_AS(decode_doors(std::string_view(message).substr(0, message.size() - 1)), std::runtime_error);
    CHECK_THROWS_AS(kind_of(std::string(1, static_cast<char>(static_cast<int>(message_kind::hold_cells) + 1))),
                    std::runtime_error);
}

TEST_CASE("a launcher's options survive their encoding")
{
    launcher_options options;
    options.workspaces = "/srv/work=spaces";
    options.waiting = 3;
    options.use_cgroups = false;
    options.browser = {"/usr/lib/chromium/chromium", 1 << 20, true};
    auto& zygote = options.zygote.emplace();
    zygote.path = "/opt/zygote";
    zygote.profile = "auto";
    zygote.argv = {"/usr/bin/python3", "-c", "a = 1\nb = 2", ""};
    zygote.environment = {{"MPLBACKEND", "Agg"}, {"EMPTY", ""}, {"SUM", "1=1"}};
    const auto back = decode_options(encode_options(options));
    CHECK(back.workspaces == options.workspaces);
    CHECK(back.firejail.empty());
    CHECK(back.waiting == 3);
    CHECK_FALSE(back.use_cgroups);
    CHECK(back.browser.path == options.browser.path);
    CHECK(back.browser.memory == options.browser.memory);
    CHECK(back.browser.may_lack_own_sandbox);
    REQUIRE(back.zygote);
    CHECK(back.zygote->path == zygote.path);
    CHECK(back.zygote->profile == "auto");
    CHECK(back.zygote->runs == zygote.runs);
    CHECK(back.zygote->argv == zygote.argv);
    CHECK(back.zygote->environment == zygote.environment);
    CHECK_FALSE(decode_options(encode_options({})).zygote);
    const std::string bytes = encode_options(options);
    CHECK_THROWS_AS(decode_options(std::string_view(bytes).substr(0, bytes.size() - 1)), std::runtime_error);
}

TEST_CASE("a message that is cut short is refused")
{
    const auto whole = encode_start(1, false, run_request{});
    CHECK_THROWS_AS(decode_start(std::string_view(whole).substr(0, whole.size() - 1)), std::runtime_error);
    CHECK_THROWS_AS(kind_of(""), std::runtime_error);
    CHECK_THROWS_AS(kind_of("\x7f"), std::runtime_error);
}

TEST_CASE("a question for a socket names a kind that there is")
{
    const socket_request request{7, {"someone", "one"}, cell_socket::tcp6};
    const auto read = decode_open_socket(encode_open_socket(request));
    CHECK(read.id == 7);
    CHECK(read.cell == request.cell);
    CHECK(read.kind == cell_socket::tcp6);
    for (const int kind : {0, 4, 255})
        CHECK_THROWS_AS(decode_open_socket(encode_open_socket({7, {}, static_cast<cell_socket>(kind)})),
                        std::runtime_error);
}

}  // namespace cmcp::sandbox
