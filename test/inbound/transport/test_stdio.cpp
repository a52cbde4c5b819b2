#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include "config/settings.hpp"
#include "mcp/reserved_names.hpp"
#include "posix/unique_fd.hpp"
#include "transport/line_splitter.hpp"
#include "transport/stdio.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

using namespace cmcp;

namespace {

struct pipe_ends {
    pipe_ends()
    {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        read.reset(ends[0]);
        write.reset(ends[1]);
    }
    unique_fd read;
    unique_fd write;
};

std::string read_all(int fd)
{
    std::string text;
    char buffer[4096];
    while (true) {
        const auto count = ::read(fd, buffer, sizeof buffer);
        if (count <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(count));
    }
}

void write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const auto count = ::write(fd, text.data(), text.size());
        if (count <= 0) throw std::runtime_error("write");
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

std::vector<json::object> messages_of(const std::string& text)
{
    std::vector<json::object> messages;
    line_splitter lines(1 << 30);
    lines.append(text);
    while (auto line = lines.next()) {
        const auto value = json::parse(line->text);
        messages.push_back(value.is_object() ? value.get_object() : json::object{{"batch", value}});
    }
    return messages;
}

class big_tool final : public tool {
public:
    big_tool()
    {
        definition_.name = "big";
        definition_.input_schema = json::parse(R"({"type":"object"})").as_object();
    }
    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context&, json::object) override
    {
        tool_result result;
        result.structured["text"] = std::string(300'000, 'x');
        co_return result;
    }

private:
    tool_definition definition_;
};

class waiting_tool final : public tool {
public:
    waiting_tool()
    {
        definition_.name = "wait";
        definition_.input_schema = json::parse(R"({"type":"object"})").as_object();
    }
    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context&, json::object) override
    {
        auto executor = co_await asio::this_coro::executor;
        asio::steady_timer never(executor, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
        co_return tool_result{};
    }

private:
    tool_definition definition_;
};

settings quick_settings()
{
    settings config;
    config.drain_timeout = std::chrono::milliseconds(5000);
    return config;
}

// Serves `input` from a descriptor to its end; returns what was written.
std::vector<json::object> serve(int input, const settings& config = quick_settings())
{
    asio::io_context io;
    server_core core(io.get_executor(), {"test", "Test", "1", ""}, {},
                     std::make_shared<job_register>(io.get_executor()));
    core.tools().add(std::make_unique<big_tool>());
    core.tools().add(std::make_unique<waiting_tool>());
    pipe_ends output;
    std::string text;
    std::thread reader([&] { text = read_all(output.read.get()); });
    try {
        test::run_coroutine(io, serve_stdio(core, config, input, output.write.get()));
    } catch (...) {
        output.write.reset();
        reader.join();
        throw;
    }
    output.write.reset();
    reader.join();
    return messages_of(text);
}

std::vector<json::object> serve_text(std::string_view text, const settings& config = quick_settings())
{
    pipe_ends input;
    std::thread writer([&] {
        write_all(input.write.get(), text);
        input.write.reset();
    });
    auto messages = serve(input.read.get(), config);
    writer.join();
    return messages;
}

const std::string initialize_line =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}})"
    "\n";

std::string modern(int id, std::string method, std::string params)
{
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":{)" + params +
           R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/clientCapabilities":{}}}})"
           "\n";
}

int code_of(const json::object& message)
{
    return static_cast<int>(message.at("error").as_object().at("code").as_int64());
}

}  // namespace

TEST_CASE("stdio speaks both eras on one stream")
{
    const auto messages = serve_text(initialize_line + modern(1, "tools/list", "") +
                                     R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})" + "\n");
    REQUIRE(messages.size() == 3);
    CHECK(messages[0].at("result").as_object().at("protocolVersion").as_string() == "2025-11-25");
    for (const auto& message : messages) {
        if (message.at("id") == 1) CHECK(message.at("result").as_object().at("resultType").as_string() == "complete");
        if (message.at("id") == 2) CHECK_FALSE(message.at("result").as_object().contains("resultType"));
    }
}

TEST_CASE("a bad line is answered and the next one served")
{
    settings config = quick_settings();
    config.max_body_bytes = 1000;
    const auto messages = serve_text("nonsense\n\n" + std::string(5000, 'x') + "\n" + R"({"jsonrpc":"2.0","id":[]})" +
                                         "\n" + R"({"jsonrpc":"2.0","id":1,"method":"ping"})" + "\r\n",
                                     config);
    REQUIRE(messages.size() == 4);
    CHECK(code_of(messages[0]) == rpc_code::parse_error);
    CHECK(messages[0].at("id").is_null());
    CHECK(code_of(messages[1]) == rpc_code::invalid_request);
    CHECK(code_of(messages[2]) == rpc_code::invalid_request);
    CHECK(messages[3].at("result").as_object().empty());
}

TEST_CASE("the last line needs no end")
{
    CHECK(serve_text(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").size() == 1);
}

TEST_CASE("everything is answered after the end of the input, however slowly it is read")
{
    std::string text = initialize_line;
    for (int i = 1; i <= 40; ++i)
        text += R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"tools/call","params":{"name":"big"}})" +
                "\n";
    CHECK(serve_text(text).size() == 41);
}

TEST_CASE("requests of both eras can be cancelled by their id")
{
    const std::string cancel = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)";
    const auto messages = serve_text(initialize_line + modern(1, "tools/call", R"("name":"wait",)") +
                                     R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}})" +
                                     "\n" + cancel + "1}}\n" + cancel + "2}}\n" + cancel + "3}}\n");
    CHECK(messages.size() == 1);
}

TEST_CASE("what still runs after the drain timeout is cancelled")
{
    settings config = quick_settings();
    config.drain_timeout = std::chrono::milliseconds(50);
    const auto messages = serve_text(modern(1, "tools/call", R"("name":"wait",)"), config);
    CHECK(messages.empty());
}

TEST_CASE("a listener is dismissed at the end of the input")
{
    const auto messages =
        serve_text(modern(1, "subscriptions/listen", R"("notifications":{"toolsListChanged":true},)"));
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].at("method").as_string() == "notifications/subscriptions/acknowledged");
    CHECK(messages[1].contains("result"));
}

TEST_CASE("a batch is answered as one where the revision knows batches")
{
    const std::string batch =
        R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},)"
        R"({"jsonrpc":"2.0","id":2,"method":"ping"}])"
        "\n";
    const auto refused = serve_text(initialize_line + batch);
    REQUIRE(refused.size() == 2);
    CHECK(code_of(refused[1]) == rpc_code::invalid_request);
    auto older = initialize_line;
    older.replace(older.find("2025-11-25"), 10, "2025-03-26");
    const auto answered = serve_text(older + batch);
    REQUIRE(answered.size() == 2);
    CHECK(answered[1].at("batch").as_array().size() == 2);
}

TEST_CASE("the input may be a file or a device")
{
    CHECK(serve(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get()).empty());
    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    std::fputs((initialize_line + modern(1, "tools/list", "")).c_str(), file);
    std::fflush(file);
    std::rewind(file);
    CHECK(serve(::fileno(file)).size() == 2);
    std::fclose(file);
}

TEST_CASE("cancelling stdio ends it")
{
    asio::io_context io;
    server_core core(io.get_executor(), {"test", "Test", "1", ""}, {},
                     std::make_shared<job_register>(io.get_executor()));
    pipe_ends input;
    pipe_ends output;
    bool ended = false;
    const auto config = quick_settings();
    task_group tasks(io.get_executor());
    tasks.spawn("stdio", serve_stdio(core, config, input.read.get(), output.write.get()));
    io.poll();
    tasks.cancel_all();
    ended = test::run_coroutine(io, tasks.wait_idle(std::chrono::seconds(10)));
    CHECK(ended);
}

TEST_CASE("lines are cut the same whatever the pieces")
{
    const std::string text = "a\n\nbc\r\n" + std::string(20, 'x') + "\nd";
    for (std::size_t piece = 1; piece < 8; ++piece) {
        line_splitter lines(10);
        std::string seen;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            lines.append(std::string_view(text).substr(at, piece));
            while (auto line = lines.next()) seen += line->too_long ? "[long]|" : line->text + "|";
        }
        if (auto line = lines.rest()) seen += line->text + "|";
        CHECK(seen == "a||bc|[long]|d|");
    }
}

TEST_CASE("long lines are whole, with what stands before and behind them")
{
    const std::string first(3'000'000, 'a'), second(2'000'000, 'b');
    const std::string text = "1\n" + first + "\r\n" + second + "\n2\n3\n" + first;
    for (const std::size_t piece : {std::size_t{65'536}, std::size_t{999'983}, text.size()}) {
        line_splitter lines(4'000'000);
        std::vector<std::string> seen;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            lines.append(std::string_view(text).substr(at, piece));
            while (auto line = lines.next()) seen.push_back(std::move(line->text));
        }
        if (auto line = lines.rest()) seen.push_back(std::move(line->text));
        CHECK((seen == std::vector<std::string>{"1", first, second, "2", "3", first}));
    }
}
