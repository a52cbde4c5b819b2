#pragma once

#include "directory/directory.hpp"
#include "identity/identity_store.hpp"
#include "identity/shared_logins.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct server_settings;

/// The API keys of all servers of a cluster: each tells its own in the directory, signed with SANDBOX_LINK_KEY, because
/// whoever writes there must not make keys. Also proofs of possession that were used. Io thread only.
class shared_keys {
public:
    /// Both must outlive this.
    shared_keys(directory& told_in, const server_settings& config) : directory_(told_in), config_(config) {}

    /// Tells what is new of this server's keys, or all of them.
    awaitable<> tell(bool everything);

    awaitable<key_elsewhere> find(std::string id);

    /// As shared_logins::first_use.
    awaitable<std::optional<bool>> first_use(std::string digest, std::chrono::seconds keep);

private:
    std::string sealed(const key_record& key) const;
    std::optional<key_record> opened(const std::string& text, std::string_view id) const;

    directory& directory_;
    const server_settings& config_;
    std::unique_ptr<identity_store> store_;
    std::map<std::string, std::string> told_;  // by id
};

}  // namespace cmcp
