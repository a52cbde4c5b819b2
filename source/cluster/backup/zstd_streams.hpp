#pragma once

#include "backup/byte_sink.hpp"
#include "backup/byte_source.hpp"

#include <cstdint>
#include <memory>
#include <string>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace cmcp::backup {

/// Compresses to a descriptor (Zstandard, with a checksum).
class zstd_sink final : public byte_sink {
public:
    explicit zstd_sink(int to);
    ~zstd_sink() override;
    void put(std::string_view bytes) override;
    void finish();  ///< to be called at the end

    std::uint64_t written() const { return written_; }  ///< compressed bytes

private:
    struct closer {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    void compress(std::string_view bytes, bool last);

    int to_;
    std::unique_ptr<ZSTD_CCtx_s, closer> context_;
    std::string buffer_;
    std::uint64_t written_ = 0;
};

/// Decompresses from a descriptor, with at most 128 MiB of memory.
class zstd_source final : public byte_source {
public:
    explicit zstd_source(int from);
    ~zstd_source() override;
    std::size_t take(char* into, std::size_t most) override;

    std::uint64_t read() const { return read_; }  ///< compressed bytes

private:
    struct closer {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    bool fill();

    int from_;
    std::unique_ptr<ZSTD_DCtx_s, closer> context_;
    std::string buffer_;
    std::size_t at_ = 0, end_ = 0;  // of what is left in the buffer
    std::uint64_t read_ = 0;
    bool whole_ = true;  // at the end of a frame
};

}  // namespace cmcp::backup
