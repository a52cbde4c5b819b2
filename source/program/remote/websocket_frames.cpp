#include "remote/websocket_frames.hpp"

#include "text/encodings.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace cmcp::command {

namespace {

constexpr unsigned last_frame = 0x80, masked = 0x80, opcode_bits = 0x0f, reserved_bits = 0x70;
constexpr unsigned continuation = 0, control_bit = 8;
constexpr std::size_t short_length = 125;
constexpr std::uint16_t no_code = 1005;

[[noreturn]] void refuse(const char* what)
{
    throw std::runtime_error(std::string("the server breaks the WebSocket protocol: ") + what);
}

void append_number(std::string& to, std::uint64_t number, int bytes)
{
    while (bytes-- > 0) to += static_cast<char>(number >> (8 * bytes));
}

std::uint64_t number_in(std::string_view bytes)
{
    std::uint64_t number = 0;
    for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
    return number;
}

}  // namespace

std::string websocket_frames::frame(kind is, std::string_view bytes)
{
    std::string out;
    out += static_cast<char>(last_frame | static_cast<unsigned>(is));
    if (bytes.size() <= short_length) {
        out += static_cast<char>(masked | bytes.size());
    } else if (bytes.size() <= 0xffff) {
        out += static_cast<char>(masked | 126u);
        append_number(out, bytes.size(), 2);
    } else {
        out += static_cast<char>(masked | 127u);
        append_number(out, bytes.size(), 8);
    }
    std::array<unsigned char, 4> mask{};
    if (::RAND_bytes(mask.data(), static_cast<int>(mask.size())) != 1) throw std::runtime_error("no random bytes");
    out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        out += static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ mask[i % mask.size()]);
    return out;
}

std::string websocket_frames::close_frame(std::uint16_t code)
{
    std::string bytes;
    append_number(bytes, code, 2);
    return frame(kind::close, bytes);
}

std::string websocket_frames::accept_for(std::string_view key)
{
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1)
        throw std::runtime_error("the library has no SHA-1, which WebSockets need");
    return base64_encode({reinterpret_cast<const char*>(digest.data()), size});
}

std::optional<websocket_frames::header> websocket_frames::read_header() const
{
    if (held_.size() < 2) return std::nullopt;
    header of;
    of.first = static_cast<unsigned char>(held_[0]);
    const unsigned second = static_cast<unsigned char>(held_[1]);
    if ((of.first & reserved_bits) != 0) refuse("a frame has bits of an extension");
    if ((second & masked) != 0) refuse("a frame is masked");
    const std::size_t digits = second == 126 ? 2 : second == 127 ? 8 : 0;
    of.size = 2 + digits;
    if (held_.size() < of.size) return std::nullopt;
    of.length = digits == 0 ? second : number_in(std::string_view(held_).substr(2, digits));
    const bool is_control = (of.first & control_bit) != 0;
    if (is_control && (of.length > short_length || (of.first & last_frame) == 0)) refuse("a control frame is too long");
    if (of.length > longest_message - partial_.size()) refuse("a message is too long");
    return of;
}

std::optional<websocket_frames::message> websocket_frames::take(const header& of)
{
    std::string bytes = held_.substr(of.size, of.length);
    held_.erase(0, of.size + of.length);
    const unsigned opcode = of.first & opcode_bits;
    if ((opcode & control_bit) != 0) {
        const auto is = static_cast<kind>(opcode);
        if (is != kind::close) return message{is, std::move(bytes)};
        if (bytes.size() < 2) return message{is, {}, no_code};
        return message{is, bytes.substr(2), static_cast<std::uint16_t>(number_in(bytes.substr(0, 2)))};
    }
    if ((opcode == continuation) != kind_of_partial_.has_value()) refuse("a frame comes out of turn");
    if (opcode != continuation) kind_of_partial_ = static_cast<kind>(opcode);
    partial_ += bytes;
    if ((of.first & last_frame) == 0) return std::nullopt;
    message whole{*kind_of_partial_, std::move(partial_)};
    partial_.clear();
    kind_of_partial_.reset();
    return whole;
}

std::optional<websocket_frames::message> websocket_frames::next()
{
    for (;;) {
        const auto of = read_header();
        if (!of || held_.size() < of->size + of->length) return std::nullopt;
        if (auto whole = take(*of)) return whole;
    }
}

}  // namespace cmcp::command
