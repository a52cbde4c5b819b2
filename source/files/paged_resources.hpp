#pragma once

#include "files/file_manager.hpp"
#include "mcp/resource_provider.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Parts of files of the workspace, for output that is too long to be read at once:
/// `workspace:///PATH?offset=BYTES&limit=BYTES`. Answers only URIs with a query; to be asked before
/// workspace_resources.
class paged_resources final : public resource_provider {
public:
    explicit paged_resources(file_manager& files) : files_(files) {}  ///< `files` must outlive this

    awaitable<json::array> list(const caller& who) override;  ///< nothing: the files themselves are listed
    json::array templates() const override;
    awaitable<std::optional<json::array>> read(const caller& who, std::string uri) override;
    /// A part is not observed; its file is, as workspace:///PATH.
    std::shared_ptr<void> observe(const caller&, const std::string&, std::function<void()>) override { return nullptr; }

    /// Nothing when `uri` has no query; throws rpc_error (invalid_params) when the query is not understood.
    static std::optional<file_read_request> parse(std::string_view uri);

private:
    awaitable<std::optional<json::object>> text_or_bytes(caller who, file_read_request what);
    awaitable<std::optional<json::object>> part(caller who, file_read_request what);

    file_manager& files_;
};

}  // namespace cmcp
