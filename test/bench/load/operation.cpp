#include "load/operation.hpp"

#include "jsonrpc/json.hpp"

#include <charconv>
#include <stdexcept>

namespace cmcp::load {

namespace {

constexpr std::string_view modern_meta =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"container-mcp-load","version":"1"})";

bool is_method(std::string_view name) { return name == "ping" || name.find('/') != std::string_view::npos; }

[[noreturn]] void refuse(std::string_view text, const std::string& why)
{
    throw std::invalid_argument("--call " + std::string(text) + ": " + why);
}

double parse_weight(std::string_view text, std::string_view whole)
{
    double weight = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc() || end != text.data() + text.size() || !(weight > 0))
        refuse(whole, "the weight after '*' must be a number above 0");
    return weight;
}

std::string parse_arguments(std::string_view text, std::string_view whole)
{
    boost::system::error_code error;
    auto value = json::parse(json::string_view(text.data(), text.size()), error);
    if (error || !value.is_object()) refuse(whole, "the arguments after ':' must be a JSON object");
    return json::serialize(value);
}

std::string json_quoted(std::string_view text) { return json::serialize(json::string(text.data(), text.size())); }

std::string meta_of(transport over, std::int64_t id, bool progress)
{
    std::string meta;
    if (over == transport::stateless) meta = modern_meta;
    if (progress) meta.append(meta.empty() ? "" : ",").append("\"progressToken\":").append(std::to_string(id));
    return meta;
}

}  // namespace

std::string_view to_string(transport t)
{
    switch (t) {
        case transport::sse:
            return "sse";
        case transport::streamable:
            return "streamable";
        case transport::stateless:
            return "stateless";
        case transport::stdio:
            return "stdio";
    }
    return "";
}

operation parse_operation(std::string_view text)
{
    operation parsed;
    auto star = text.rfind('*');
    bool weighted = star != std::string_view::npos && text.find('}', star) == std::string_view::npos;
    if (weighted) parsed.weight = parse_weight(text.substr(star + 1), text);
    auto what = text.substr(0, weighted ? star : text.size());
    auto colon = what.find(':');
    auto name = what.substr(0, colon);
    if (name.empty()) refuse(text, "name a tool, or a method such as ping or tools/list");
    if (colon != std::string_view::npos) parsed.arguments = parse_arguments(what.substr(colon + 1), text);
    parsed.name = name;
    parsed.method = is_method(name) ? std::string(name) : "tools/call";
    if (!is_method(name)) parsed.tool = name;
    return parsed;
}

std::string request_text(const operation& what, transport over, std::int64_t id, bool progress)
{
    std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id);
    text.append(R"(,"method":")").append(what.method).append(R"(","params":{)");
    bool bare = what.tool.empty() && what.arguments == "{}";
    if (!what.tool.empty())
        text.append("\"name\":").append(json_quoted(what.tool)).append(",\"arguments\":").append(what.arguments);
    else
        text.append(what.arguments, 1, what.arguments.size() - 2);
    auto meta = meta_of(over, id, progress && !what.tool.empty());
    if (!meta.empty()) text.append(bare ? "" : ",").append("\"_meta\":{").append(meta).append("}");
    return text.append("}}");
}

std::string initialize_text(std::string_view revision)
{
    std::string text = R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")";
    return text.append(revision).append(
        R"(","capabilities":{},"clientInfo":{"name":"container-mcp-load","version":"1"}}})");
}

std::string listen_text(std::int64_t id)
{
    std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id);
    text.append(R"(,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{)");
    return text.append(modern_meta).append("}}}");
}

mix::mix(std::vector<operation> all) : all_(std::move(all)), credit_(all_.size())
{
    for (const auto& each : all_) total_ += each.weight;
}

// Smooth weighted round robin: each operation gains its weight, and the one with the most credit runs and pays the
// total.
std::size_t mix::next()
{
    std::size_t best = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        credit_[i] += all_[i].weight;
        if (credit_[i] > credit_[best]) best = i;
    }
    credit_[best] -= total_;
    return best;
}

}  // namespace cmcp::load
