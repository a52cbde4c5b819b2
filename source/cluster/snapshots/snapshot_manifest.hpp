#pragma once

#include "jsonrpc/json.hpp"
#include "sealing/sealing.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::snapshots {

struct chunk_reference {
    std::string id;  ///< chunk_sealer::id_of()
    std::uint64_t size = 0;
    bool operator==(const chunk_reference&) const = default;
};

/// The content of a sandbox's folder at one moment: an archive in chunks, and the sandbox's record.
struct snapshot_manifest {
    std::string handle;                     ///< of the sandbox
    std::int64_t taken = 0;                 ///< seconds since 1970
    std::string node;                       ///< the machine that took it
    std::uint64_t epoch = 0;                ///< of the sandbox's owner among machines
    std::vector<chunk_reference> chunks{};  ///< in their order in the archive
    std::uint64_t bytes = 0;                ///< of all chunks
    json::object record{};                  ///< owner, name, image, packages, … as the sandbox's keeper wants it
};

inline constexpr std::size_t longest_manifest = 64 * 1024 * 1024;  ///< bytes of its text; for some 800 GiB of chunks

std::string to_text(const snapshot_manifest& manifest);

/// Throws bad_snapshot: the text is no manifest, has a newer form, or its parts do not agree.
snapshot_manifest from_text(std::string_view text);

/// Throws std::runtime_error where the text is longer than `longest_manifest`.
std::string seal_manifest(const snapshot_manifest& manifest, const chunk_sealer& sealer);

/// Throws bad_snapshot: also where it is the manifest of another sandbox than `handle`. An earlier manifest of the same
/// sandbox is opened, too, so the caller compares the epoch and the time.
snapshot_manifest open_manifest(std::string_view handle, std::string_view sealed, const chunk_sealer& sealer);

/// The context that a chunk of a sandbox is sealed with.
std::string context_of_chunk(std::string_view handle, std::string_view id);

}  // namespace cmcp::snapshots
