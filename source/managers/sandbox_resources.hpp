#pragma once

#include "managers/sandbox_files.hpp"
#include "mcp/resource_provider.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Files of the caller's sandboxes as MCP resources: `sandbox://HANDLE/PATH`.
class sandbox_resources final : public resource_provider {
public:
    sandbox_resources(sandbox_manager& sandboxes, sandbox_files& files, blocking_pool& pool)
        : sandboxes_(sandboxes), files_(files), pool_(pool)
    {
    }

    awaitable<json::array> list(const caller& who) override;
    json::array templates() const override;
    awaitable<std::optional<json::array>> read(const caller& who, std::string uri) override;
    void on_update(std::function<void(std::string uri)> listener) override;

    struct place {
        std::string sandbox;
        std::string path;
    };
    static std::optional<place> parse(std::string_view uri);

private:
    awaitable<json::object> contents(sandbox_record where, std::string uri, std::string path);

    sandbox_manager& sandboxes_;
    sandbox_files& files_;
    blocking_pool& pool_;
};

}  // namespace cmcp
