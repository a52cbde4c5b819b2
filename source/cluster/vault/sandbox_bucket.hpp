#pragma once

#include "objects/object_store.hpp"
#include "sealing/sealing.hpp"
#include "snapshots/snapshot_manifest.hpp"
#include "vault/sandbox_owners.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

struct cluster_settings;

/// The newest snapshot of a sandbox, as a list of the bucket tells it.
struct listed_snapshot {
    std::uint64_t epoch = 0;
    std::string etag;  ///< of its manifest; empty: the storage does not say it
};

/// Sandboxes in a bucket: `manifests/<handle>/<epoch>` is the latest snapshot of the owner of this epoch, and
/// `chunks/<handle>/<epoch>/<id>` are its bytes. An owner writes and removes only what has its epoch, until the next
/// one has brought all of it to his own; so one that does not know yet that the sandbox has another owner spoils
/// nothing. Every call throws object_store_error. Io thread only.
class sandbox_bucket {
public:
    /// SNAPSHOT_STORE and SNAPSHOT_KEY. Throws config_error.
    sandbox_bucket(asio::any_io_executor executor, const cluster_settings& config);

    /// Owners as servers without etcd had them in the bucket, `claims/<handle>/<epoch>`.
    awaitable<std::map<std::string, sandbox_claim>> claims_of_before();
    awaitable<> forget_claims_of_before();

    /// All sandboxes with a snapshot: the epoch of the newest one.
    awaitable<std::map<std::string, std::uint64_t>> newest_of_all();
    awaitable<std::map<std::string, listed_snapshot>> newest_of(std::string node);  ///< whose handles name this node

    /// Of the newest snapshot; nothing: there is none.
    awaitable<std::optional<std::uint64_t>> newest_epoch(std::string handle);

    /// The snapshot with the highest epoch; nothing: there is none. Throws bad_snapshot.
    awaitable<std::optional<snapshots::snapshot_manifest>> newest(std::string handle);
    awaitable<std::string> put(snapshots::snapshot_manifest manifest);  ///< the ETag of what is there now

    awaitable<> put_chunk(std::string handle, std::uint64_t epoch, std::string id, std::string sealed);
    awaitable<std::string> chunk(std::string handle, std::uint64_t epoch, std::string id);  ///< throws bad_snapshot
    awaitable<> remove_chunk(std::string handle, std::uint64_t epoch, std::string id);

    /// Removes snapshots below the epoch.
    awaitable<> forget(std::string handle, std::uint64_t below);
    awaitable<> forget(std::string handle);  ///< all of it

    const snapshots::chunk_sealer& sealer() const { return sealer_; }

private:
    awaitable<> remove_all(std::string prefix);

    object_store objects_;
    snapshots::chunk_sealer sealer_;
};

}  // namespace cmcp
