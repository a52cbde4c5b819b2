#pragma once

#include "objects/object_store.hpp"
#include "sealing/sealing.hpp"
#include "snapshots/snapshot_manifest.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// The owner of a sandbox. Each one after the first has made a claim with the next epoch.
struct sandbox_claim {
    std::uint64_t epoch = 0;  ///< 0: nobody has claimed it
    std::string node{};       ///< the owner; at epoch 0 the server that a sandbox's handle names; empty: not known
};

/// Sandboxes in a bucket: `claims/<handle>/<epoch>` names an owner and is made once,
/// `manifests/<handle>/<epoch>` is the latest snapshot of this owner, and `chunks/<handle>/<epoch>/<id>` are its bytes.
/// An owner writes and removes only what has its epoch, until the next one has brought all of it to his own; so one
/// that does not know yet that the sandbox has another owner spoils nothing. Every call throws object_store_error. Io
/// thread only.
class sandbox_bucket {
public:
    /// SNAPSHOT_STORE and SNAPSHOT_KEY. Throws config_error.
    sandbox_bucket(asio::any_io_executor executor, const cluster_settings& config);

    awaitable<sandbox_claim> owner_of(std::string handle);
    awaitable<bool> claim(std::string handle, sandbox_claim as);  ///< false: another one has this epoch

    /// The latest claim of each handle that has one; those in `known` are not read again, and those that `wanted`
    /// refuses are not read at all, so they have no node.
    awaitable<std::map<std::string, sandbox_claim>> claims(std::map<std::string, sandbox_claim> known,
                                                           std::function<bool(const std::string& handle)> wanted);

    /// The snapshot with the highest epoch; nothing: there is none. Throws bad_snapshot.
    awaitable<std::optional<snapshots::snapshot_manifest>> newest(std::string handle);
    awaitable<> put(snapshots::snapshot_manifest manifest);

    /// Sandboxes with a snapshot whose handles name this node.
    awaitable<std::vector<std::string>> kept_of(std::string node);

    awaitable<> put_chunk(std::string handle, std::uint64_t epoch, std::string id, std::string sealed);
    awaitable<std::string> chunk(std::string handle, std::uint64_t epoch, std::string id);  ///< throws bad_snapshot
    awaitable<> remove_chunk(std::string handle, std::uint64_t epoch, std::string id);

    /// Removes snapshots below the epoch, and with `claims` those as well.
    awaitable<> forget(std::string handle, std::uint64_t below, bool with_claims);

    const snapshots::chunk_sealer& sealer() const { return sealer_; }

private:
    awaitable<> remove_all(std::string prefix);

    object_store objects_;
    snapshots::chunk_sealer sealer_;
};

}  // namespace cmcp
