#pragma once

#include "files/file_manager.hpp"
#include "files/file_watch.hpp"
#include "mcp/resource_provider.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// The files of the caller's workspace as resources: `workspace:///` and the path, percent-encoded (RFC 3986).
/// Only files that file_read would give, at most 1000 of them in the list. A query names a part of a file that is too
/// long to be read at once: `workspace:///PATH?offset=BYTES&limit=BYTES`. Only whole files are observed.
class workspace_resources final : public resource_provider {
public:
    workspace_resources(file_manager& files, file_watch& watch)
        : files_(files), watch_(watch) {}  ///< both outlive this

    awaitable<json::array> list(const caller& who) override;
    json::array templates() const override;
    awaitable<std::optional<json::array>> read(const caller& who, std::string uri) override;
    std::shared_ptr<void> observe(const caller& who, const std::string& uri, std::function<void()> changed) override;

    static std::string uri_of(std::string_view path);
    static std::optional<std::string> path_of(std::string_view uri);  ///< nothing when it is no such URI

private:
    awaitable<std::optional<json::object>> text_or_bytes(caller who, file_read_request request);
    awaitable<std::optional<json::object>> contents(caller who, file_read_request request);

    /// Nothing when it is no such URI; throws rpc_error (invalid_params) when its query is not understood.
    static std::optional<file_read_request> parse(std::string_view uri);

    file_manager& files_;
    file_watch& watch_;
};

/// A guess from the name's extension; `fallback` when it is unknown.
std::string_view media_type_of(std::string_view path, std::string_view fallback);

}  // namespace cmcp
