#include "web/content_decoder.hpp"

#include "text/ascii.hpp"
#include "text/charset.hpp"
#include "text/words.hpp"
#include "web/fetch_error.hpp"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>

namespace cmcp {
namespace {

constexpr std::size_t block = 32 * 1024;
constexpr std::size_t most_stages = 3;
// Some servers send these, which are no content codings; browsers pass over them.
constexpr std::string_view not_packed = "identity none binary 8bit utf-8 utf8";
constexpr std::uint64_t suspicious_ratio = 100;

using emitter = std::function<void(std::string_view)>;

[[noreturn]] void damaged(const char* name)
{
    throw fetch_error("bad_encoding", std::string("The page cannot be unpacked: its ") + name + " data is damaged.");
}

}  // namespace

class content_decoder::stage {
public:
    explicit stage(const char* name) : name_(name) {}
    stage(const stage&) = delete;
    stage& operator=(const stage&) = delete;
    virtual ~stage() = default;
    virtual void decode(std::string_view piece, const emitter& emit) = 0;
    bool whole() const { return ended_ || !begun_; }
    const char* name() const { return name_; }

protected:
    std::array<unsigned char, block> out_;
    bool begun_ = false, ended_ = false;

private:
    const char* name_;
};

namespace {

/// gzip (several members in a row) and deflate, which some servers send without the zlib frame that RFC 9110 asks for.
class zlib_stage final : public content_decoder::stage {
public:
    explicit zlib_stage(bool gzip) : stage(gzip ? "gzip" : "deflate"), gzip_(gzip) {}
    ~zlib_stage() override
    {
        if (open_) ::inflateEnd(&state_);
    }

    void decode(std::string_view piece, const emitter& emit) override
    {
        if (piece.empty()) return;
        begun_ = true;
        if (!open_) open(static_cast<unsigned char>(piece.front()));
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
        state_.avail_in = static_cast<uInt>(piece.size());
        while (state_.avail_in > 0 && step(emit)) {
        }
    }

private:
    void open(unsigned char first)
    {
        const bool has_zlib_frame = (first & 0x0f) == Z_DEFLATED;
        const int window = gzip_ ? 15 + 16 : has_zlib_frame ? 15 : -15;
        if (::inflateInit2(&state_, window) != Z_OK) throw std::bad_alloc();
        open_ = true;
    }

    // False: the rest is padding after the end, which is ignored.
    bool step(const emitter& emit)
    {
        if (ended_) {
            const bool another = gzip_ && *state_.next_in == 0x1f;
            if (!another) return false;
            ::inflateReset(&state_);
            ended_ = false;
        }
        state_.next_out = out_.data();
        state_.avail_out = static_cast<uInt>(out_.size());
        const int done = ::inflate(&state_, Z_NO_FLUSH);
        if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) damaged(name());
        emit({reinterpret_cast<const char*>(out_.data()), out_.size() - state_.avail_out});
        ended_ = done == Z_STREAM_END;
        return done != Z_BUF_ERROR || state_.avail_out == 0;
    }

    z_stream state_{};
    bool gzip_, open_ = false;
};

class brotli_stage final : public content_decoder::stage {
public:
    brotli_stage()
        : stage("brotli"),
          state_(::BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &::BrotliDecoderDestroyInstance)
    {
    }

    void decode(std::string_view piece, const emitter& emit) override
    {
        const auto* in = reinterpret_cast<const std::uint8_t*>(piece.data());
        std::size_t left = piece.size();
        begun_ = begun_ || left > 0;
        for (;;) {
            std::uint8_t* out = out_.data();
            std::size_t room = out_.size();
            const auto done = ::BrotliDecoderDecompressStream(state_.get(), &left, &in, &room, &out, nullptr);
            if (done == BROTLI_DECODER_RESULT_ERROR && !ended_) damaged(name());
            emit({reinterpret_cast<const char*>(out_.data()), out_.size() - room});
            ended_ = ended_ || done == BROTLI_DECODER_RESULT_SUCCESS;
            if (done != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) return;
        }
    }

private:
    std::unique_ptr<BrotliDecoderState, decltype(&::BrotliDecoderDestroyInstance)> state_;
};

// RFC 9659: a page may ask for a window of 8 MiB at most.
class zstd_stage final : public content_decoder::stage {
public:
    zstd_stage() : stage("zstd"), state_(::ZSTD_createDStream(), &::ZSTD_freeDStream)
    {
        if (!state_) throw std::bad_alloc();
        ::ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, 23);
    }

    void decode(std::string_view piece, const emitter& emit) override
    {
        ZSTD_inBuffer in{piece.data(), piece.size(), 0};
        begun_ = begun_ || !piece.empty();
        for (bool is_full = true; in.pos < in.size || (is_full && !piece.empty());) {
            ZSTD_outBuffer out{out_.data(), out_.size(), 0};
            const auto left = ::ZSTD_decompressStream(state_.get(), &out, &in);
            if (::ZSTD_isError(left) != 0) damaged(name());
            emit({reinterpret_cast<const char*>(out_.data()), out.pos});
            ended_ = left == 0;
            is_full = out.pos == out.size;
            if (ended_ && in.pos == in.size) return;
        }
    }

private:
    std::unique_ptr<ZSTD_DStream, decltype(&::ZSTD_freeDStream)> state_;
};

std::unique_ptr<content_decoder::stage> make_stage(const std::string& name)
{
    if (name == "gzip" || name == "x-gzip") return std::make_unique<zlib_stage>(true);
    if (name == "deflate") return std::make_unique<zlib_stage>(false);
    if (name == "br") return std::make_unique<brotli_stage>();
    if (name == "zstd") return std::make_unique<zstd_stage>();
    throw fetch_error("bad_encoding", "The page cannot be unpacked: the server sent the Content-Encoding \"" +
                                          name.substr(0, 40) + "\", which was not asked for.");
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

content_decoder::content_decoder(std::string_view content_encoding)
{
    for (const auto part : split(content_encoding, ',')) {
        const std::string name = lower_case(trimmed(part));
        if (name.empty() || is_word_of(not_packed, name)) continue;
        stages_.insert(stages_.begin(), make_stage(name));  // the encoding that was applied last is undone first
        if (stages_.size() > most_stages)
            throw fetch_error("bad_encoding", "The page cannot be unpacked: it was packed more than three times over.");
    }
}

content_decoder::content_decoder(content_decoder&&) noexcept = default;
content_decoder::~content_decoder() = default;

void content_decoder::decode(std::string_view piece, std::string& out, std::uint64_t limit)
{
    packed_ += piece.size();
    feed(0, piece, out, limit);
}

void content_decoder::feed(std::size_t index, std::string_view piece, std::string& out, std::uint64_t limit)
{
    if (index < stages_.size())
        return stages_[index]->decode(piece, [&](std::string_view more) { feed(index + 1, more, out, limit); });
    if (out.size() + piece.size() > limit) {
        if (out.size() > packed_ * suspicious_ratio)
            throw fetch_error("decompression_bomb", "Cut: the page is a decompression bomb; " +
                                                        std::to_string(packed_) + " bytes unpack to more than " +
                                                        mebibytes(limit) + ".");
        throw fetch_error("too_large", "The page is too large: it has more than the " + mebibytes(limit) +
                                           " that WEB_MAX_SIZE_MB allows.");
    }
    out.append(piece);
}

void content_decoder::finish() const
{
    for (const auto& one : stages_)
        if (!one->whole())
            throw fetch_error("bad_encoding", std::string("The page is truncated: its ") + one->name() +
                                                  " data ends before it is whole.");
}

}  // namespace cmcp
