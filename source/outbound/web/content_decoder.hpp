#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Undoes Content-Encoding (RFC 9110 section 8.4: gzip, deflate, br, zstd, several in a row) while the body comes in.
class content_decoder {
public:
    /// Throws fetch_error for an encoding that is not understood.
    explicit content_decoder(std::string_view content_encoding);
    content_decoder(content_decoder&&) noexcept;
    ~content_decoder();

    bool unpacks() const { return !stages_.empty(); }  ///< else decode() only copies

    /// Appends what `piece` unpacks to, which may be many times as long. Throws fetch_error when `out` would grow
    /// beyond `limit` bytes (too large, or a decompression bomb) or the data is damaged.
    void decode(std::string_view piece, std::string& out, std::uint64_t limit);

    /// The body is over: throws fetch_error when the packed data is not.
    void finish() const;

    class stage;

private:
    void feed(std::size_t index, std::string_view piece, std::string& out, std::uint64_t limit);

    std::vector<std::unique_ptr<stage>> stages_;
    std::uint64_t packed_ = 0;
};

}  // namespace cmcp
