#pragma once

#include "backup/byte_source.hpp"
#include "backup/entry.hpp"
#include "backup/running_digest.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cmcp::backup {

/// Reads an archive that archive_writer wrote, or that somebody made to look so: all of it is checked. Throws
/// bad_archive.
class archive_reader {
public:
    explicit archive_reader(byte_source& from) : from_(from) {}

    /// The next entry; what was not read of the former one's content is skipped. Nothing: the archive has ended, whole
    /// and with the digest that it says.
    std::optional<entry> next();

    /// Content of the entry, as it is stored (entry::data says where it belongs); fewer bytes only at its end.
    std::size_t content(char* into, std::size_t most);
    std::string text(std::size_t most);  ///< all of a short content; throws bad_archive for a long one

    std::uint64_t entries() const { return entries_; }
    std::uint64_t bytes() const { return bytes_; }

private:
    std::string take(std::size_t count);
    void skip_rest();
    void read_map(entry& of);
    void check_end(const entry& last, const std::string& digest, std::uint64_t bytes);

    byte_source& from_;
    running_digest digest_;
    std::uint64_t entries_ = 0, bytes_ = 0;
    std::uint64_t left_ = 0;
    std::size_t padding_ = 0;
    bool ended_ = false;
};

}  // namespace cmcp::backup
