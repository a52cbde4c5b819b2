#pragma once

#include "directory/directory.hpp"
#include "identity/identity_store.hpp"
#include "identity/quotas.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct server_settings;

/// The limits that administrators gave single principals at any server of a cluster: each server keeps all of them in
/// its own store, and the latest change counts. In the directory they are signed with SANDBOX_LINK_KEY, because whoever
/// writes there must not give quotas. Io thread only.
class shared_quotas {
public:
    /// All must outlive this.
    shared_quotas(directory& told_in, const server_settings& config, quotas& limits);

    /// Tells what changes here and takes what changes elsewhere, until it is cancelled.
    awaitable<> run();

    void tell_again();  ///< the directory may have lost something

private:
    using rows = std::map<std::string, stored_limit>;  // by field

    void open_store(bool make);
    awaitable<bool> settle_where_needed();
    awaitable<bool> settle();
    awaitable<rows> take(directory_reply hash);
    std::vector<directory_command> missing_in(const rows& known_rows);

    directory& directory_;
    const server_settings& config_;
    quotas& limits_;
    std::unique_ptr<identity_store> store_;
    std::int64_t version_ = -1;     // of the store, as it was told
    std::uint64_t connection_ = 0;  // by which it was told
    bool is_due_ = true;
    event changed_;
    std::string trouble_;  // as the log has it
};

/// The entry for a limit. Pure.
std::string sealed_limit(std::string_view key, const stored_limit& one);

/// Nothing: it was not signed with the key.
std::optional<stored_limit> opened_limit(std::string_view key, std::string_view sealed);

}  // namespace cmcp
