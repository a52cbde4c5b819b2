#include "rest/rest_reply.hpp"

#include "http/relayed_fields.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/reserved_names.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

json::array images_of(const json::object& result)
{
    json::array images;
    const auto* content = result.if_contains("content");
    if (content == nullptr || !content->is_array()) return images;
    for (const auto& block : content->get_array()) {
        const auto* of = block.if_object();
        if (of == nullptr || !of->contains("type") || of->at("type") != "image") continue;
        images.push_back(json::object{{"data", of->at("data")}, {"mimeType", of->at("mimeType")}});
    }
    return images;
}

// 429 or 503 of a call that found no place to wait; 0 for others.
int busy_status(const json::object& result)
{
    const auto* meta = result.if_contains("_meta");
    const auto* whose =
        meta != nullptr && meta->is_object() ? meta->get_object().if_contains(reserved_name::busy) : nullptr;
    if (whose == nullptr) return 0;
    return *whose == "caller" ? 429 : 503;
}

}  // namespace

json::object rest_object(json::object result)
{
    json::object object;
    if (auto* structured = result.if_contains("structuredContent"); structured != nullptr && structured->is_object()) {
        object = std::move(structured->get_object());
        auto images = object.contains("file_links") ? json::array() : images_of(result);
        if (!images.empty()) object["images"] = std::move(images);
        return object;
    }
    if (auto* content = result.if_contains("content")) object["content"] = std::move(*content);
    return object;
}

namespace {

int rest_status(int busy, bool failed, const json::object& object)
{
    if (busy != 0) return busy;
    // A run that was ended is an answer with a cause; a refusal has none.
    if (!failed || object.contains("cause")) return 200;
    const auto* type = object.if_contains("error_type");
    const std::string_view name =
        type != nullptr && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
    if (name == "NotFound") return 404;
    if (name == "Forbidden") return 403;
    if (name == "NameTaken" || name == "StateError") return 409;
    if (is_any_of(name, {"Busy", "NotAvailable", "ImageNotFetched", "SnapshotStoreError", "NodeCutOff"})) return 503;
    if (name == "NodeUnreachable") return flag_of(object, "may_have_run") ? 502 : 503;
    if (name == "RateLimited") return 429;
    return name == "SandboxError" ? 500 : 400;
}

}  // namespace

http_reply rest_reply(json::object result, std::string_view request_id)
{
    http_reply reply;
    const int as_busy = busy_status(result);
    const bool failed = flag_of(result, "isError");
    json::object object = rest_object(std::move(result));
    reply.status = rest_status(as_busy, failed, object);
    const bool busy = as_busy != 0;
    const bool passes = reply.status == 503 && is_any_of(view_of(object, "error_type"),
                                                         {"SnapshotStoreError", "NodeCutOff", "NodeUnreachable"});
    if (const auto* wait = object.if_contains("retry_after"); wait != nullptr && wait->is_int64())
        reply.with("Retry-After", std::to_string(wait->get_int64()));
    else if (passes)
        reply.with("Retry-After", "5");
    if (reply.status != 200 && !object.contains("error_type")) object["error_type"] = busy ? "Busy" : "ToolFailed";
    if (reply.status != 200) object["request_id"] = request_id;
    if (busy || (reply.status == 503 && object["error_type"] == "Busy")) reply.with("Retry-After", "1");
    reply.body = jsonrpc::write_json(object);
    return reply;
}

}  // namespace cmcp
