#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// `text` with its percent-encoded bytes (RFC 3986, 2.1); nothing where a percent sign is not followed by two hex
/// digits.
std::optional<std::string> decoded_uri_part(std::string_view text);

/// What resources/templates/list has of one kind of resource; `uri` as in RFC 6570.
json::array one_template(std::string_view uri, std::string_view name, std::string_view title,
                         std::string_view description);

/// What resource_provider::read returns for the one resource that `work` reads, under the URI it was asked for by.
/// Nothing where `work` gives nothing or throws file_missing; another file_error becomes an rpc_error.
awaitable<std::optional<json::array>> contents_of(awaitable<std::optional<json::object>> work, std::string uri);

}  // namespace cmcp
