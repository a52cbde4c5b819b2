#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"
#include "test/conformance/samples.hpp"

namespace cmcp::fixture {

namespace {

json::object resource(std::string_view uri, std::string_view name, std::string_view mime_type)
{
    json::object described;
    described["uri"] = uri;
    described["name"] = name;
    described["description"] = std::string(name) + " for testing";
    described["mimeType"] = mime_type;
    return described;
}

json::array contents(std::string_view uri, std::string_view mime_type, std::string_view member, std::string_view value)
{
    json::object item;
    item["uri"] = uri;
    item["mimeType"] = mime_type;
    item[member] = value;
    json::array list;
    list.push_back(std::move(item));
    return list;
}

std::string template_text(std::string_view id)
{
    json::object data;
    data["id"] = id;
    data["templateTest"] = true;
    data["data"] = "Data for ID: " + std::string(id);
    return json::serialize(data);
}

// The {id} of test://template/{id}/data.
std::optional<std::string> template_id(std::string_view uri)
{
    constexpr std::string_view head = "test://template/";
    constexpr std::string_view tail = "/data";
    if (!uri.starts_with(head) || !uri.ends_with(tail) || uri.size() <= head.size() + tail.size()) return std::nullopt;
    return std::string(uri.substr(head.size(), uri.size() - head.size() - tail.size()));
}

class test_resources final : public resource_provider {
public:
    awaitable<json::array> list(const caller&) override
    {
        json::array all;
        all.push_back(resource("test://static-text", "Static text", "text/plain"));
        all.push_back(resource("test://static-binary", "Static binary", "image/png"));
        all.push_back(resource("test://watched-resource", "Watched resource", "text/plain"));
        co_return all;
    }

    json::array templates() const override
    {
        json::object described;
        described["uriTemplate"] = "test://template/{id}/data";
        described["name"] = "Template";
        described["description"] = "A resource template for testing";
        described["mimeType"] = "application/json";
        json::array all;
        all.push_back(std::move(described));
        return all;
    }

    awaitable<std::optional<json::array>> read(const caller&, std::string uri) override
    {
        std::optional<json::array> result;
        if (uri == "test://static-text")
            result = contents(uri, "text/plain", "text", "This is the content of the static text resource.");
        else if (uri == "test://static-binary")
            result = contents(uri, "image/png", "blob", sample_png);
        else if (uri == "test://watched-resource")
            result = contents(uri, "text/plain", "text", "Watched resource content");
        else if (const auto id = template_id(uri))
            result = contents(uri, "application/json", "text", template_text(*id));
        co_return result;
    }

    std::shared_ptr<void> observe(const caller&, const std::string& uri, std::function<void()>) override
    {
        return uri.starts_with("test://") ? std::make_shared<std::string>(uri) : nullptr;  // none of them changes
    }
};

}  // namespace

void add_resources(server_core& core) { core.add_resources(std::make_unique<test_resources>()); }

}  // namespace cmcp::fixture
