#include "rest/gzip.hpp"

#include <memory>
#include <stdexcept>

#include <zlib.h>

namespace cmcp {

std::string gzipped(std::string_view text)
{
    constexpr int window = 15, with_header = 16, memory = 8;
    z_stream stream{};
    if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window + with_header, memory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        throw std::runtime_error("zlib cannot compress");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::deflateEnd);
    std::string out(::deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib cannot compress");
    out.resize(stream.total_out);
    return out;
}

}  // namespace cmcp
