#pragma once

#include "sealing/bad_snapshot.hpp"
#include "snapshots/chunk_cutter.hpp"
#include "snapshots/snapshot_reader.hpp"
#include "snapshots/snapshot_writer.hpp"
#include "test/cluster/backup/archive_case.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <unordered_set>

namespace cmcp::test {

inline const std::string sandbox_handle = "sbx_n1_0123456789abcdef0123456789abcdef";
inline const std::string other_handle = "sbx_n1_ffffffffffffffffffffffffffffffff";

/// Bytes that do not compress, the same ones for a seed.
inline std::string noise(std::size_t size, std::uint64_t seed)
{
    std::string bytes(size + 8, '\0');
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (std::size_t at = 0; at < size; at += sizeof state) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::memcpy(bytes.data() + at, &state, sizeof state);
    }
    bytes.resize(size);
    return bytes;
}

/// Lines of text, which repeat in parts.
inline std::string lines(std::size_t size)
{
    std::string text;
    for (std::size_t number = 0; text.size() < size; ++number)
        text += "line " + std::to_string(number * number % 10'007) + " of a file of text\n";
    text.resize(size);
    return text;
}

inline void write_file(const std::filesystem::path& file, std::string_view text)
{
    std::ofstream(file, std::ios::binary) << text;
}

/// A sandbox's folder, the store of its sealed chunks, and a key.
struct snapshot_case {
    temporary_folder folder;
    std::filesystem::path from = folder.path / "from", store = folder.path / "store", to = folder.path / "to";
    snapshots::chunk_sealer sealer{std::string(32, 'k')};
    std::unordered_set<std::string> known;

    snapshot_case()
    {
        for (const auto& each : {from, store, to}) std::filesystem::create_directory(each);
    }

    snapshots::snapshot_order order() const
    {
        snapshots::snapshot_order wanted;
        wanted.folder = from;
        wanted.handle = sandbox_handle;
        wanted.into = store;
        wanted.known = known;
        return wanted;
    }

    /// Writes what is not known yet, which is known then.
    snapshots::written_snapshot write()
    {
        auto written = snapshots::write_snapshot(order(), sealer);
        for (const auto& chunk : written.chunks) known.insert(chunk.id);
        return written;
    }

    snapshots::snapshot_manifest manifest()
    {
        const auto written = write();
        snapshots::snapshot_manifest all;
        all.handle = sandbox_handle;
        all.taken = 1'800'000'000;
        all.node = "n1";
        all.chunks = written.chunks;
        all.bytes = written.bytes;
        return all;
    }

    snapshots::restored_snapshot read(const snapshots::snapshot_manifest& manifest) const
    {
        return snapshots::read_snapshot(manifest, sealer, snapshots::chunks_in(store), to);
    }

    void check_refused(const snapshots::snapshot_manifest& manifest) const
    {
        CHECK_THROWS_AS(read(manifest), snapshots::bad_snapshot);
        CHECK(std::filesystem::is_empty(to));
    }
};

}  // namespace cmcp::test
