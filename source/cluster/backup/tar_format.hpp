#pragma once

#include "backup/entry.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::backup {

inline constexpr std::size_t tar_block = 512;
inline constexpr std::size_t longest_path = 64 * 1024;
inline constexpr std::size_t longest_records = 1 << 20;   ///< of the header before an entry
inline constexpr std::size_t most_data_ranges = 1 << 16;  ///< of a sparse file

/// Bytes that fill the last block.
inline std::size_t padding_of(std::uint64_t size)
{
    return static_cast<std::size_t>((tar_block - size % tar_block) % tar_block);
}

/// The blocks before the content: a header of extended records, the entry's own header, and the map of a sparse file,
/// which counts as content there.
std::string tar_header(const entry& of);

/// The map of a sparse file (GNU sparse format 1.0), in whole blocks; empty for other files.
std::string sparse_map(const entry& of);

/// A header as it stands in an archive, before its records are applied.
struct raw_header {
    char type = 0;
    entry of{};
    std::uint64_t stored = 0;  ///< bytes behind the header, with a map
};

/// Nothing: a block of zeros. Throws bad_archive: the checksum is wrong, it has another format, a kind of entry that
/// no backup has.
std::optional<raw_header> read_tar_header(std::string_view block);

using pax_records = std::map<std::string, std::string, std::less<>>;
pax_records read_pax_records(std::string_view text);             ///< throws bad_archive
void apply_records(const pax_records& records, raw_header& to);  ///< throws bad_archive

}  // namespace cmcp::backup
