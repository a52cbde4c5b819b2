#pragma once

#include "files/file_watch.hpp"
#include "mcp/resource_provider.hpp"
#include "sandboxes/sandbox_files.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Files of the caller's sandboxes as MCP resources: `sandbox://SANDBOX/PATH`, by handle or name; `workspace:///PATH`
/// is one of the default sandbox. A query names a part of a file: `?offset=BYTES&limit=BYTES`,
/// `?line=NUMBER&lines=NUMBER`; without it a long text is cut, and says how to read on. Only whole files are observed.
class sandbox_resources final : public resource_provider {
public:
    /// All outlive this. `most_text`: bytes of a text that are given.
    sandbox_resources(sandbox_manager& sandboxes, sandbox_files& files, file_watch& watch, blocking_pool& pool,
                      std::size_t most_text = 24 << 10)
        : sandboxes_(sandboxes), files_(files), watch_(watch), pool_(pool), most_text_(most_text)
    {
    }

    awaitable<json::array> list(const caller& who) override;
    json::array templates() const override;
    awaitable<std::optional<json::array>> read(const caller& who, std::string uri) override;
    std::shared_ptr<void> observe(const caller& who, const std::string& uri, std::function<void()> changed) override;

    struct place {
        std::string sandbox;  ///< empty: the default one
        file_read_request file;
    };

    /// Nothing when it is no such URI; throws rpc_error (invalid_params) when its query is not understood.
    static std::optional<place> parse(std::string_view uri);

private:
    awaitable<std::optional<json::object>> text_or_bytes(caller who, place file);
    awaitable<std::optional<json::object>> contents(sandbox_record where, file_read_request request, bool is_part);

    sandbox_manager& sandboxes_;
    sandbox_files& files_;
    file_watch& watch_;
    blocking_pool& pool_;
    std::size_t most_text_;
};

}  // namespace cmcp
