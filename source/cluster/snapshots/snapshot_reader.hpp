#pragma once

#include "sealing/sealing.hpp"
#include "snapshots/snapshot_manifest.hpp"

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

namespace cmcp::snapshots {

/// Gives a sealed chunk by its id; throws bad_snapshot where there is none, std::runtime_error where it cannot be read.
using sealed_chunks = std::function<std::string(const std::string& id)>;

/// The chunks that write_snapshot() put into a folder.
sealed_chunks chunks_in(std::filesystem::path folder);

struct restored_snapshot {
    bool lost_attributes = false;  ///< the file system keeps none of users
};

/// Makes the folder of the manifest in `into`, which is there and empty. Each chunk is checked by its id before any of
/// its bytes is used, the archive by its digest. Owners are set by root alone. Blocks on the disk. Throws bad_snapshot
/// where the snapshot is not what was written, snapshot_stopped when a stop is asked for, and std::runtime_error where
/// the disk or `from` fails. `into` is empty then; after a crash it has a part of the folder, so it should get its
/// final name when this has returned.
restored_snapshot read_snapshot(const snapshot_manifest& manifest, const chunk_sealer& sealer,
                                const sealed_chunks& from, const std::filesystem::path& into,
                                const std::stop_token& stop = {});

}  // namespace cmcp::snapshots
