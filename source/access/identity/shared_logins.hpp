#pragma once

#include "async/asio.hpp"
#include "identity/api_key.hpp"
#include "identity/shared_issuer_keys.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// A look for a key at the other servers.
struct key_elsewhere {
    bool is_answered = false;            ///< false: nobody could be asked
    std::optional<key_record> record{};  ///< nothing: no server has it
};

/// The knowledge of servers of a cluster about credentials.
struct shared_logins {
    /// A proof is used. False: another server took it before. Nothing: nobody can say, so it must not be taken.
    std::function<awaitable<std::optional<bool>>(std::string digest, std::chrono::seconds keep)> first_use;

    std::function<awaitable<key_elsewhere>(std::string id)> find_key;

    shared_issuer_keys issuer_keys{};
};

}  // namespace cmcp
