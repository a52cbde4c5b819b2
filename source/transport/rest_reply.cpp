#include "transport/rest_reply.hpp"

#include "jsonrpc/write_json.hpp"

#include <string_view>
#include <utility>

namespace cmcp {

namespace {

json::array images_of(const json::object& result)
{
    json::array made;
    const auto* content = result.if_contains("content");
    if (content == nullptr || !content->is_array()) return made;
    for (const auto& block : content->get_array()) {
        const auto* of = block.if_object();
        if (of == nullptr || !of->contains("type") || of->at("type") != "image") continue;
        made.push_back(json::object{{"data", of->at("data")}, {"mimeType", of->at("mimeType")}});
    }
    return made;
}

}  // namespace

json::object rest_object(const json::object& result)
{
    json::object made;
    if (const auto* found = result.if_contains("structuredContent"); found != nullptr && found->is_object()) {
        made = found->get_object();
        auto images = made.contains("file_links") ? json::array() : images_of(result);
        if (!images.empty()) made["images"] = std::move(images);
        return made;
    }
    if (const auto* found = result.if_contains("content")) made["content"] = *found;
    return made;
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
    http_reply made;
    json::object object = rest_object(result);
    made.status = rest_status(result, object);
    if (made.status != 200 && !object.contains("error_type")) object["error_type"] = "ToolFailed";
    made.body = jsonrpc::write_json(object);
    return made;
}

}  // namespace cmcp
