#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::snapshots {

/// Compresses and encrypts what leaves this machine: Zstandard, then AES-256-GCM with a random nonce of 96 bits, so a
/// key is good for 2^32 texts. For several threads.
class chunk_sealer {
public:
    static constexpr std::size_t key_size = 32;

    /// Keys for ids, cuts and texts are derived from `key` (HKDF with SHA-256). Throws std::runtime_error: the key has
    /// another size, or the library has no HKDF.
    explicit chunk_sealer(std::string_view key);
    chunk_sealer(const chunk_sealer&) = default;
    chunk_sealer& operator=(const chunk_sealer&) = default;
    ~chunk_sealer();

    /// The name of a chunk by its content: 64 lower-case digits, of which nobody without the key learns anything.
    std::string id_of(std::string_view chunk) const;

    /// For chunk_cutter: sizes of chunks of known files are others with another key.
    std::uint64_t cut_seed() const { return cut_seed_; }

    /// `context` says where the text belongs; open() needs the same one.
    std::string seal(std::string_view context, std::string_view plain) const;

    /// Throws bad_snapshot: the text was changed or cut, belongs elsewhere, was sealed with another key, or has more
    /// than `most` bytes when it is unpacked.
    std::string open(std::string_view context, std::string_view sealed, std::size_t most) const;

private:
    std::string id_key_, text_key_;
    std::uint64_t cut_seed_ = 0;
};

/// Bytes that a sealed text of `plain` bytes has at most.
constexpr std::size_t sealed_bound(std::size_t plain) { return plain + plain / 128 + 1024; }

}  // namespace cmcp::snapshots
