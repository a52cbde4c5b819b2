#include "transport/rest_reply.hpp"

#include "jsonrpc/write_json.hpp"

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

}  // namespace

json::object rest_object(const json::object& result)
{
    json::object object;
    if (const auto* structured = result.if_contains("structuredContent");
        structured != nullptr && structured->is_object()) {
        object = structured->get_object();
        auto images = object.contains("file_links") ? json::array() : images_of(result);
        if (!images.empty()) object["images"] = std::move(images);
        return object;
    }
    if (const auto* content = result.if_contains("content")) object["content"] = *content;
    return object;
}

int rest_status(const json::object& result, const json::object& object)
{
    const auto* failed = result.if_contains("isError");
    // A run that was ended is an answer with a cause; a refusal has none.
    if (failed == nullptr || !failed->is_bool() || !failed->get_bool() || object.contains("cause")) return 200;
    const auto* type = object.if_contains("error_type");
    const std::string_view name =
        type != nullptr && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
    if (name == "NotFound") return 404;
    if (name == "NameTaken" || name == "StateError") return 409;
    if (name == "Busy" || name == "NotAvailable") return 503;
    return name == "SandboxError" ? 500 : 400;
}

http_reply rest_reply(const json::object& result)
{
    http_reply reply;
    json::object object = rest_object(result);
    reply.status = rest_status(result, object);
    if (reply.status != 200 && !object.contains("error_type")) object["error_type"] = "ToolFailed";
    reply.body = jsonrpc::write_json(object);
    return reply;
}

}  // namespace cmcp
