#pragma once

#include "async/asio.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// A key set of an authorization server as it was fetched.
struct fetched_key_set {
    std::string document;        ///< the text of the JWK Set
    std::chrono::seconds age{};  ///< since the fetch
};

/// The key sets of authorization servers that the servers of a cluster tell each other. Empty functions: this server is
/// alone.
struct shared_issuer_keys {
    /// The newest set that any server has fetched; nothing: none is known, or nobody can be asked.
    std::function<awaitable<std::optional<fetched_key_set>>(std::string issuer)> find{};

    /// Whether this server may fetch now. False: another one has begun to within `pause`. True also where nobody can be
    /// asked.
    std::function<awaitable<bool>(std::string issuer, std::chrono::seconds pause)> claim{};

    /// Tells what this server has fetched now.
    std::function<awaitable<>(std::string issuer, std::string document)> tell{};
};

}  // namespace cmcp
