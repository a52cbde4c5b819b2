#pragma once

#include "snapshots/snapshot_manifest.hpp"
#include "store/sandbox_store.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cmcp {

/// A folder, as a bucket has it.
struct stored_folder {
    std::vector<snapshots::chunk_reference> chunks{};
    std::uint64_t bytes = 0;  ///< of all chunks
};

/// A sandbox that is here, as a bucket has it: the file `<sandboxes>/<id>/kept.json`.
struct stored_state {
    static constexpr const char* file_name = "kept.json";

    std::uint64_t epoch = 0;  ///< of this server's claim
    double used = -1;         ///< sandbox_record::last_used of what is kept; -1: nothing is, with this epoch
    double taken = 0;         ///< when it was kept, seconds since 1970
    std::string etag{};       ///< of the manifest that the bucket has of it; empty: not known
    bool released = false;    ///< others may take the sandbox without asking: this server has ended
    stored_folder files{};
    std::map<std::string, stored_folder> snapshots{};  ///< by handle
    stored_folder calls{};                             ///< as call_records has them

    std::vector<std::string> ids() const;  ///< of all chunks, each once
};

/// A file that is not there or cannot be read is a state in which nothing is kept. Blocks on the disk.
stored_state read_kept(const std::filesystem::path& folder_of_sandbox);
void write_kept(const std::filesystem::path& folder_of_sandbox,
                const stored_state& state);  ///< throws std::system_error

/// All of a sandbox that goes into its manifest beside the chunks of its files.
struct stored_record {
    sandbox_record about;
    std::map<std::string, std::string> packages;
    std::vector<snapshot_record> snapshots;
};

snapshots::snapshot_manifest manifest_of(const stored_record& record, const stored_state& state, std::string node);

/// Whether the owner with this epoch has released it. What an owner before has released says nothing of this one,
/// which may not have kept anything yet.
bool is_released(const snapshots::snapshot_manifest& manifest, std::uint64_t epoch);

/// Throws bad_snapshot: the manifest has no record as manifest_of() makes it.
stored_record record_in(const snapshots::snapshot_manifest& manifest);

/// The same of the snapshots that the sandbox has, and of its calls.
std::map<std::string, stored_folder> snapshots_in(const snapshots::snapshot_manifest& manifest);
stored_folder calls_in(const snapshots::snapshot_manifest& manifest);

}  // namespace cmcp
