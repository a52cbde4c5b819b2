#pragma once

#include "backup/byte_sink.hpp"
#include "backup/entry.hpp"
#include "backup/running_digest.hpp"

#include <cstdint>
#include <string_view>

namespace cmcp::backup {

/// Writes a tar archive with a digest at its end.
class archive_writer {
public:
    explicit archive_writer(byte_sink& to) : to_(to) {}

    /// Begins an entry; entry::stored() bytes of content follow by content().
    void begin(const entry& of);
    void content(std::string_view bytes);
    void end();  ///< fills up what is missing of the content with zeros

    void add_text(const std::string& path, std::string_view text);  ///< a file of mode 0600

    /// The last entry, which has the digest of all before, and the end of the archive.
    void finish();

    std::uint64_t entries() const { return entries_; }
    std::uint64_t bytes() const { return bytes_; }  ///< of the archive before it is compressed

private:
    void put(std::string_view bytes);
    void put_zeros(std::uint64_t count);

    byte_sink& to_;
    running_digest digest_;
    std::uint64_t entries_ = 0, bytes_ = 0;
    std::uint64_t left_ = 0;  // of the entry's content
    std::size_t padding_ = 0;
};

}  // namespace cmcp::backup
