#pragma once

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp::test {

inline std::string deflate(std::string_view text, int window)
{
    z_stream state{};
    if (::deflateInit2(&state, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("deflateInit2");
    std::string packed(::deflateBound(&state, text.size()) + 64, '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    state.avail_in = static_cast<uInt>(text.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&state, Z_FINISH);
    packed.resize(state.total_out);
    ::deflateEnd(&state);
    return packed;
}

inline std::string gzip(std::string_view text) { return deflate(text, 15 + 16); }

inline std::string zstd(std::string_view text)
{
    std::string packed(::ZSTD_compressBound(text.size()), '\0');
    packed.resize(::ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
}

inline std::string brotli(std::string_view text)
{
    std::size_t size = ::BrotliEncoderMaxCompressedSize(text.size()) + 64;
    std::string packed(size, '\0');
    ::BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()),
                            &size, reinterpret_cast<std::uint8_t*>(packed.data()));
    packed.resize(size);
    return packed;
}

}  // namespace cmcp::test
