#include "transport/lost_response.hpp"

#include "jsonrpc/broken_text.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/utf8_text.hpp"

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace cmcp {

namespace {

// Of a longer one the facts are looked for in its text: to read all of it would hold the loop.
constexpr std::size_t longest_read = 64 << 10;
constexpr std::size_t longest_looked_at = 4 << 20;
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

std::string_view raw_member(std::string_view object, std::string_view name)
{
    for (const auto& [quoted, value] : jsonrpc::raw_members(object))
        if (quoted.size() == name.size() + 2 && quoted.substr(1, name.size()) == name) return value;
    return {};
}

// The text may be cut within a character or an escape, which ends a few bytes later.
std::string end_of_raw_text(std::string_view quoted)
{
    constexpr std::size_t most_of_raw = 2 * longest_end, longest_escape = 12;
    if (quoted.size() < 2) return {};
    const std::string tail(quoted.substr(quoted.size() - std::min(quoted.size() - 1, most_of_raw)));
    for (std::size_t cut = 0; cut <= std::min(longest_escape, tail.size() - 1); ++cut) {
        boost::system::error_code no_text;
        const auto read = json::parse('"' + tail.substr(cut), no_text);
        if (!no_text && read.is_string())
            return std::string(utf8_suffix(std::string_view(read.get_string()), longest_end));
    }
    return {};
}

json::object outcome_in_long(std::string_view result)
{
    json::object outcome;
    outcome["isError"] = raw_member(result, "isError") == "true";
    for (const auto& [quoted, value] : jsonrpc::raw_members(raw_member(result, "structuredContent"))) {
        if (outcome.size() >= most_facts) break;
        boost::system::error_code unreadable;
        const auto read = value.size() <= longest_fact ? json::parse(value, unreadable) : json::value();
        if (!unreadable && is_fact(read)) outcome[quoted.substr(1, quoted.size() - 2)] = read;
    }
    const auto blocks = jsonrpc::members_in_broken(raw_member(result, "content"), 64);
    for (const auto block : blocks.value_or(std::vector<std::string_view>())) {
        if (raw_member(block, "type") != "\"text\"") continue;
        if (auto end = end_of_raw_text(raw_member(block, "text")); !end.empty()) outcome["end_of_text"] = end;
        break;
    }
    return outcome;
}

// Nothing where the response is none with a result, or too long.
std::optional<json::object> outcome_of_response(std::string_view response)
{
    if (response.size() > longest_looked_at) return std::nullopt;
    if (response.size() > longest_read) {
        const auto result = raw_member(response, "result");
        return result.starts_with('{') ? std::optional(outcome_in_long(result)) : std::nullopt;
    }
    boost::system::error_code unreadable;
    const auto read = json::parse(response, unreadable);
    const auto* message = unreadable ? nullptr : read.if_object();
    const auto* result = message == nullptr ? nullptr : message->if_contains("result");
    if (result == nullptr || !result->is_object()) return std::nullopt;
    return outcome_of(result->get_object());
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
    if (auto outcome = outcome_of_response(response)) {
        if (const auto file = file_of(*outcome); !file.empty())
            advice = " Its output is in " + file + ", which file_read reads.";
        data["outcome"] = std::move(*outcome);
    }
    const rpc_error error(rpc_code::server_error,
                          "The request has ended, but its response of " + std::to_string(response.size()) +
                              " bytes is lost: the connection broke before it arrived, and the server does not keep "
                              "it any more (1 MiB a session, 10 minutes). `outcome` says how it ended." +
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
