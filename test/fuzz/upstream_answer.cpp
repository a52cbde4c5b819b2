// The answer of an upstream server, as JSON or as events: wherever it is cut into pieces it means the same, or is
// refused with a sentence. Its tools are within their bounds, and headers and ids are such as can be sent.
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/utf8_text.hpp"
#include "upstream/call_result.hpp"
#include "upstream/reply_receiver.hpp"
#include "upstream/tool_list.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

using namespace cmcp;

void require(bool holds)
{
    if (!holds) std::abort();
}

struct outcome {
    std::string answer, problem;
    std::size_t replies = 0, steps = 0;
    bool operator==(const outcome&) const = default;
};

awaitable<> read_all(reply_receiver& reply, std::string type, std::string_view body, std::size_t piece)
{
    fetch_head head;
    head.status = 200;
    head.type = std::move(type);
    co_await reply.begin(std::move(head), std::nullopt);
    for (; !body.empty(); body.remove_prefix(std::min(piece, body.size())))
        co_await reply.receive(body.substr(0, piece));
    co_await reply.finish();
}

void run(awaitable<> work)
{
    asio::io_context io;
    std::exception_ptr failure;
    asio::co_spawn(io, std::move(work), [&](std::exception_ptr why) { failure = why; });
    io.run();
    if (failure) std::rethrow_exception(failure);
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

outcome read(const std::string& type, std::string_view body, std::size_t piece, jsonrpc::response* into)
{
    outcome end;
    link_messages messages;
    messages.reply = [&](std::string reply) {
        ++end.replies;
        require(json::parse(reply).is_object());
    };
    const auto answer = messages.expect(1, [&](const upstream_progress& step) {
        ++end.steps;
        require(is_utf8(step.message) && step.message.find('\x1b') == std::string::npos);
    });
    held_bytes held;
    {
        reply_receiver reply(messages, answer, held);
        try {
            run(read_all(reply, type, body, piece));
        } catch (const upstream_problem& problem) {
            end.problem = problem.what();
        } catch (const reply_complete&) {
            require(answer->answer.has_value());
        }
        require(std::ranges::all_of(reply.place().last_event, is_visible));
    }
    require(held.now == 0);
    if (!answer->answer) return end;
    end.answer = answer->answer->error ? jsonrpc::write_json(*answer->answer->error)
                                       : jsonrpc::write_json(answer->answer->result);
    if (into != nullptr) *into = std::move(*answer->answer);
    return end;
}

void check_tool(const upstream_tool& tool, const json::object& arguments)
{
    require(!tool.name.empty() && tool.name.size() <= 64 && std::ranges::all_of(tool.name, is_visible));
    require(is_utf8(tool.description) && tool.description.size() <= tool_list::longest_description);
    require(is_utf8(tool.title) && tool.title.find('\n') == std::string::npos);
    require(jsonrpc::json_size(tool.input_schema) <= tool_list::longest_schema);
    for (const auto& [name, value] : repeated_arguments(tool.input_schema, arguments)) {
        require(std::ranges::all_of(name, is_visible));
        require(std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }));
    }
}

// The same text is a page of tools, the result of a call, and its arguments.
void check_result(jsonrpc::response answer)
{
    json::object result;
    try {
        result = result_of(std::move(answer), "tools/list");
        static_cast<void>(checked_call_result(result));
    } catch (const upstream_problem& problem) {
        require(is_utf8(problem.what()));
    }
    upstream_entry entry;
    entry.name = "one";
    tool_list list(entry);
    try {
        static_cast<void>(list.add_page(result));
        static_cast<void>(list.add_page(result));
    } catch (const upstream_problem&) {
    }
    require(list.tools.size() <= tool_list::most_tools && list.complaints.size() <= 11);
    for (const auto& each : list.complaints) require(is_utf8(each));
    for (const auto& each : list.tools) check_tool(each, result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view body(reinterpret_cast<const char*>(data), size);
    const std::string type = body.starts_with('{') || body.starts_with('[') ? "application/json" : "text/event-stream";
    jsonrpc::response answer;
    const auto whole = read(type, body, std::max<std::size_t>(size, 1), &answer);
    require(whole == read(type, body, 1, nullptr));
    require(whole == read(type, body, 7, nullptr));
    require(!whole.answer.empty() || !whole.problem.empty());
    if (!whole.answer.empty()) check_result(std::move(answer));
    return 0;
}
