#pragma once

#include "backup/byte_sink.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cmcp::snapshots {

inline constexpr std::size_t least_chunk = 256 * 1024;
inline constexpr std::size_t largest_chunk = 4 * 1024 * 1024;

/// Cuts a stream into chunks where its content says so (after FastCDC), so that two streams that differ in few places
/// have most chunks in common. A chunk has `least_chunk` to `largest_chunk` bytes, 1 MiB in the mean; the last one may
/// be shorter. Cuts depend on the bytes and the seed alone. Holds one chunk in memory.
class chunk_cutter final : public backup::byte_sink {
public:
    /// `give` takes each chunk, which is good during the call, and may throw.
    using receiver = std::function<void(std::string_view chunk)>;
    chunk_cutter(std::uint64_t seed, receiver give);

    void put(std::string_view bytes) override;
    void finish();  ///< gives what is left as the last chunk

private:
    std::size_t length_of_part(std::string_view bytes);
    std::size_t look_for_cut(std::string_view part, std::uint64_t bound);
    void give_chunk();

    std::array<std::uint64_t, 256> gear_{};
    receiver give_;
    std::string chunk_;
    std::uint64_t hash_ = 0;
    bool at_cut_ = false;
};

}  // namespace cmcp::snapshots
