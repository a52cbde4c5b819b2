#include "backup/zstd_streams.hpp"

#include "backup/bad_archive.hpp"
#include "posix/bytes.hpp"

#include <zstd.h>

#include <cerrno>
#include <cstring>

namespace cmcp::backup {

namespace {

constexpr int level = 3;
constexpr int largest_window = 27;  // log2 of bytes

void check_code(std::size_t code)
{
    if (ZSTD_isError(code) != 0)
        throw bad_archive(std::string("the archive is damaged, or no backup: ") + ZSTD_getErrorName(code));
}

}  // namespace

void zstd_sink::closer::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void zstd_source::closer::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

zstd_sink::zstd_sink(int to) : to_(to), context_(ZSTD_createCCtx()), buffer_(ZSTD_CStreamOutSize(), '\0')
{
    check_code(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
    check_code(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
}

zstd_sink::~zstd_sink() = default;

void zstd_sink::put(std::string_view bytes) { compress(bytes, false); }
void zstd_sink::finish() { compress({}, true); }

void zstd_sink::compress(std::string_view bytes, bool last)
{
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
        ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
        const auto left = ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        check_code(left);
        if (!write_all(to_, {buffer_.data(), out.pos}))
            throw std::runtime_error(std::string("the archive cannot be written: ") + std::strerror(errno));
        written_ += out.pos;
        more = last ? left != 0 : in.pos < in.size;
    }
}

zstd_source::zstd_source(int from) : from_(from), context_(ZSTD_createDCtx()), buffer_(ZSTD_DStreamInSize(), '\0')
{
    check_code(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, largest_window));
}

zstd_source::~zstd_source() = default;

bool zstd_source::fill()
{
    for (;;) {
        const auto length = ::read(from_, buffer_.data(), buffer_.size());
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) throw std::runtime_error(std::string("the archive cannot be read: ") + std::strerror(errno));
        at_ = 0;
        end_ = static_cast<std::size_t>(length);
        read_ += end_;
        return length > 0;
    }
}

std::size_t zstd_source::take(char* into, std::size_t most)
{
    ZSTD_outBuffer out{into, most, 0};
    while (out.pos < most) {
        if (at_ == end_ && !fill()) {
            if (!whole_) throw bad_archive("the archive ends in the middle: it was not copied whole");
            break;
        }
        ZSTD_inBuffer in{buffer_.data(), end_, at_};
        const auto left = ZSTD_decompressStream(context_.get(), &out, &in);
        check_code(left);
        at_ = in.pos;
        whole_ = left == 0;
    }
    return out.pos;
}

}  // namespace cmcp::backup
