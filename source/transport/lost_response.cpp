#include "transport/lost_response.hpp"

#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/utf8_text.hpp"

#include <boost/system/error_code.hpp>

namespace cmcp {

namespace {

// To read a longer one would hold the loop.
constexpr std::size_t longest_read = 4 << 20;
constexpr std::size_t most_facts = 24;
constexpr std::size_t longest_fact = 300;
constexpr std::size_t longest_end = 600;

bool is_fact(const json::value& value)
{
    if (const auto* text = value.if_string()) return text->size() <= longest_fact;
    return value.is_bool() || value.is_number();
}

// Clients that are sent text alone have the facts at its end.
std::string end_of_text(const json::object& result)
{
    const auto* content = result.if_contains("content");
    if (content == nullptr || !content->is_array()) return {};
    for (const auto& block : content->get_array()) {
        const auto* members = block.if_object();
        if (members == nullptr || view_of(*members, "type") != "text") continue;
        const auto text = view_of(*members, "text");
        return std::string(utf8_suffix(text, longest_end));
    }
    return {};
}

json::object outcome_of(const json::object& result)
{
    json::object outcome;
    const auto* failed = result.if_contains("isError");
    outcome["isError"] = failed != nullptr && failed->is_bool() && failed->get_bool();
    for (const auto& member : object_of(result, "structuredContent"))
        if (is_fact(member.value()) && outcome.size() < most_facts) outcome[member.key()] = member.value();
    if (auto end = end_of_text(result); !end.empty()) outcome["end_of_text"] = end;
    return outcome;
}

std::string file_of(const json::object& outcome)
{
    for (const auto* name : {"output_path", "rest_path", "output_uri", "rest_uri", "path"})
        if (auto file = text_of(outcome, name); !file.empty()) return file;
    return {};
}

}  // namespace

std::string lost_response(const std::string& request, std::string_view response)
{
    json::object data;
    data["type"] = "ResponseLost";
    data["bytes"] = response.size();
    std::string advice = " Call it again if you need its output.";
    boost::system::error_code unreadable;
    const auto read = response.size() <= longest_read ? json::parse(response, unreadable) : json::value();
    const auto* message = read.if_object();
    const auto* result = message == nullptr ? nullptr : message->if_contains("result");
    if (result != nullptr && result->is_object()) {
        auto outcome = outcome_of(result->get_object());
        if (const auto file = file_of(outcome); !file.empty())
            advice = " Its output is in " + file + ", which file_read reads.";
        data["outcome"] = std::move(outcome);
    }
    const rpc_error error(rpc_code::server_error,
                          "The request has ended, but its response of " + std::to_string(response.size()) +
                              " bytes is lost: the connection broke before it arrived, and the server does not keep "
                              "it any more (MCP_EVENT_LOG_KB, 10 minutes). `outcome` says how it ended." +
                              advice,
                          json::value(std::move(data)));
    return jsonrpc::encode_error(json::parse(request), error);
}

std::string lost_with_server(const json::value& id)
{
    const rpc_error error(rpc_code::server_error,
                          "The server ended before it answered, so the response is lost, and the request may have been "
                          "carried out in part. Files are kept; programs that ran have ended. Another server goes on: "
                          "call it again.",
                          json::value(json::object{{"type", "ResponseLost"}}));
    return jsonrpc::encode_error(id, error);
}

}  // namespace cmcp
