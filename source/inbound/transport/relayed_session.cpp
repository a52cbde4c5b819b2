#include "transport/relayed_session.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/broken_text.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "transport/lost_response.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_open = 4096;
constexpr std::size_t most_kept = 256;
constexpr std::size_t most_members = 4096;
constexpr std::size_t longest_id = 1024;
constexpr std::size_t longest_inspected = 64 * 1024;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// As the server writes it; empty: none that it would answer.
std::string text_of_id(json::value id)
{
    jsonrpc::make_whole(id);
    if (!id.is_string() && !id.is_int64() && !id.is_uint64()) return {};
    auto text = jsonrpc::write_json(id);
    return text.size() <= longest_id ? text : std::string();
}

template <class Use>
void each_message(std::string_view line, Use use)
{
    if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return;
    if (line[begin] != '[') return use(line);
    const auto members = jsonrpc::members_in_broken(line, most_members);
    if (!members) return;
    for (const auto member : *members) use(member);
}

bool remove_from(std::vector<std::string>& ids, const std::string& id)
{
    const auto position = std::find(ids.begin(), ids.end(), id);
    if (position == ids.end()) return false;
    ids.erase(position);
    return true;
}

json::object params_of(std::string_view text)
{
    return text.size() <= longest_inspected ? object_of(jsonrpc::read_object(text), "params") : json::object();
}

}  // namespace

// A request that is cancelled has no answer.
void relayed_session::expect(std::string_view line)
{
    each_message(line, [this](std::string_view text) {
        const auto outline = jsonrpc::outline_of(text);
        if (!outline.asks) return;
        const auto id = text_of_id(outline.id);
        if (!id.empty() && open_.size() < most_open) open_.push_back(id);
        if (outline.method != "notifications/cancelled") return;
        const auto params = params_of(text);
        if (const auto* cancelled = params.if_contains("requestId")) remove_from(open_, text_of_id(*cancelled));
    });
}

void relayed_session::forget(std::string_view line)
{
    each_message(line, [this](std::string_view text) {
        const auto outline = jsonrpc::outline_of(text);
        if (outline.asks) remove_from(open_, text_of_id(outline.id));
    });
}

void relayed_session::keep(std::string_view line)
{
    each_message(line, [this](std::string_view text) {
        const auto outline = jsonrpc::outline_of(text);
        auto id = text_of_id(outline.id);
        const auto& method = outline.method;
        if (method == "initialize" || method == "notifications/initialized" || method == "logging/setLevel")
            return keep_as(method, text, std::move(id));
        if (!method.starts_with("resources/")) return;
        const auto uri = " " + text_of(params_of(text), "uri");
        if (method == "resources/subscribe" && kept_.size() < most_kept)
            keep_as("subscription" + uri, text, std::move(id));
        if (method == "resources/unsubscribe")
            std::erase_if(kept_, [&](const auto& each) { return each.what == "subscription" + uri; });
    });
}

void relayed_session::keep_as(std::string what, std::string_view line, std::string id)
{
    const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.what == what; });
    kept_line fresh{std::move(what), std::string(line), std::move(id)};
    if (same == kept_.end())
        kept_.push_back(std::move(fresh));
    else
        *same = std::move(fresh);
}

// Requests of the server have a method, and are none of these.
bool relayed_session::concerns_client(std::string_view line)
{
    bool concerns = true;
    each_message(line, [&](std::string_view text) {
        const auto outline = jsonrpc::outline_of(text);
        if (outline.asks || !outline.answers) return;
        const auto id = text_of_id(outline.id);
        if (!remove_from(open_, id) && remove_from(again_, id)) concerns = false;
    });
    return concerns;
}

std::vector<std::string> relayed_session::lost()
{
    again_.clear();
    std::vector<std::string> answers, still;
    for (auto& id : open_) {
        const bool sent_again =
            std::any_of(kept_.begin(), kept_.end(), [&](const auto& each) { return each.id == id; });
        if (sent_again)
            still.push_back(std::move(id));
        else
            answers.push_back(lost_with_server(json::parse(id)));
    }
    open_ = std::move(still);
    return answers;
}

std::vector<std::string> relayed_session::to_send_again()
{
    std::vector<std::string> lines;
    for (const auto& each : kept_) {
        const bool open = std::find(open_.begin(), open_.end(), each.id) != open_.end();
        if (!each.id.empty() && !open) again_.push_back(each.id);
        lines.push_back(each.text);
    }
    return lines;
}

}  // namespace cmcp
