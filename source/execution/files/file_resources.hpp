#pragma once

#include "async/asio.hpp"
#include "files/file_watch.hpp"
#include "jsonrpc/json.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

// For resource_provider of files, wherever the files are.

/// `text` with its percent-encoded bytes (RFC 3986, 2.1); nothing where a percent sign is not followed by two hex
/// digits.
std::optional<std::string> decoded_uri_part(std::string_view text);

/// An entry of resources/templates/list; `uri` as in RFC 6570.
json::object resource_template(std::string_view uri, std::string_view name, std::string_view title,
                               std::string_view description);

/// A line behind a text that ends at byte `next` of `size`: `prefix` and the number are where it goes on.
std::string how_to_read_on(std::uint64_t size, std::uint64_t next, const std::string& prefix);

/// The answer of resource_provider::read for the one resource that `work` reads, under the URI of the request. Nothing
/// where `work` gives nothing or throws file_missing; another file_error becomes an rpc_error.
awaitable<std::optional<json::array>> contents_of(awaitable<std::optional<json::object>> work, std::string uri);

/// Observes the file at `path` beneath `folder` for resource_provider::observe; null where the folder that it would be
/// in does not exist. Throws rpc_error for a path that leads out and where there is no room for another observer.
std::shared_ptr<void> observe_file(file_watch& watch, std::string principal, const std::filesystem::path& folder,
                                   const std::string& path, std::function<void()> changed);

}  // namespace cmcp
