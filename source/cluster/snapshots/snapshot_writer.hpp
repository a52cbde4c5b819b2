#pragma once

#include "sealing/sealing.hpp"
#include "snapshots/snapshot_manifest.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

namespace cmcp::snapshots {

struct snapshot_order {
    std::filesystem::path folder;  ///< of the sandbox; others may change it meanwhile
    std::string handle;            ///< of the sandbox, for which the chunks are sealed
    std::filesystem::path into;    ///< a folder that is there, for the files of chunks

    std::function<bool(const std::string& path)> leaves_out{};  ///< paths in the folder; empty: nothing is left out
    std::unordered_set<std::string> known{};  ///< ids of chunks that are kept already, of the same sandbox
    std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();  ///< of the files in `into`
    std::stop_token stop{};                                                ///< is looked at between chunks
};

struct written_snapshot {
    std::vector<chunk_reference> chunks{};  ///< all of the folder, in order
    std::uint64_t bytes = 0;                ///< of all chunks
    std::size_t new_chunks = 0;             ///< files in `into`
    std::uint64_t new_bytes = 0;            ///< of these files
    std::uint64_t left_out = 0;
    std::vector<std::string> problems{};  ///< sentences of what is left out, 100 at most
};

/// More would be written than `most_bytes`.
struct snapshot_too_large : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Writes each chunk of the folder that is not known into a file of mode 0600, named by its id, which has all of its
/// bytes or is not there. Blocks on the disk and takes the processor. Throws snapshot_too_large, snapshot_stopped or
/// std::runtime_error; files of whole chunks may remain then.
written_snapshot write_snapshot(const snapshot_order& order, const chunk_sealer& sealer);

}  // namespace cmcp::snapshots
