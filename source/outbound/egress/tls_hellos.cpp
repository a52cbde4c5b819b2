#include "egress/tls_hellos.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

using begins_as = client_opening::kind;

constexpr char change_cipher_spec = 20, alert = 21, handshake_record = 22, application_data = 23;
constexpr char client_hello = 1, server_hello = 2;
constexpr std::size_t record_head = 5, message_head = 4;
constexpr std::size_t longest_plain = 16384, longest_record = longest_plain + 2048;
constexpr std::size_t up_to_random = message_head + 2 + 32;

// The random of a ServerHello that is a HelloRetryRequest (RFC 8446 section 4.1.3).
constexpr std::string_view retry_random(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2"
    "\xc8\xa8\x33\x9c",
    32);

/// Reads numbers and vectors of TLS (RFC 8446 section 3) from the front. What is not there makes it bad.
struct tls_reader {
    std::string_view rest;
    bool bad = false;

    std::string_view take(std::size_t size)
    {
        bad = bad || size > rest.size();
        if (bad) return {};
        const auto piece = rest.substr(0, size);
        rest.remove_prefix(size);
        return piece;
    }
    std::size_t number(std::size_t bytes)
    {
        std::size_t value = 0;
        for (const char c : take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }
    tls_reader vector(std::size_t size_bytes) { return {take(number(size_bytes)), bad}; }
};

// RFC 6066 section 3: one name of the one type that there is.
bool read_server_name(tls_reader extension, std::string& name)
{
    auto list = extension.vector(2);
    const bool is_name = list.number(1) == 0;
    name = list.vector(2).rest;
    return is_name && !name.empty() && !list.bad && list.rest.empty() && extension.rest.empty();
}

// Two server names could be read as the one or the other.
client_opening read_hello(std::string_view body)
{
    client_opening bad{begins_as::bad, {}};
    client_opening hello{begins_as::tls, {}};
    tls_reader reader{body};
    reader.take(2 + 32);  // legacy_version, random
    reader.vector(1);     // legacy_session_id
    reader.vector(2);     // cipher_suites
    reader.vector(1);     // legacy_compression_methods
    if (!reader.bad && reader.rest.empty()) return hello;
    auto extensions = reader.vector(2);
    if (reader.bad || !reader.rest.empty()) return bad;
    while (!extensions.rest.empty()) {
        const auto type = extensions.number(2);
        const auto data = extensions.vector(2);
        if (extensions.bad) return bad;
        if (type != 0) continue;
        if (!hello.server_name.empty() || !read_server_name(data, hello.server_name)) return bad;
    }
    return hello;
}

std::string_view take_bytes(std::string_view& from, std::size_t size)
{
    const auto piece = from.substr(0, size);
    from.remove_prefix(piece.size());
    return piece;
}

}  // namespace

// A handshake message may be cut into records anywhere, but no other record may stand between (RFC 8446 section 5.1).
client_opening tls_hellos::parse(std::string_view bytes)
{
    client_opening bad{begins_as::bad, {}};
    waits_ = false;
    while (!is_over() && bytes.size() >= looked_ + record_head) {
        tls_reader head{bytes.substr(looked_, record_head)};
        const char type = static_cast<char>(head.number(1));
        const auto major = head.number(1);
        head.number(1);
        const auto size = head.number(2);
        const bool is_handshake = type == handshake_record;
        if (major != 3 || size == 0 || size > (is_handshake ? longest_plain : longest_record)) return bad;
        if (!is_handshake && (is_first_ || !message_.empty())) return bad;
        if (!is_handshake && type != change_cipher_spec && type != alert && type != application_data) return bad;
        if (is_handshake && !expects_ && !std::exchange(retries_, false)) {
            waits_ = true;
            return {};
        }
        if (is_handshake) expects_ = true;
        if (bytes.size() < looked_ + record_head + size) break;
        looked_ += record_head + size;
        if (!is_handshake) {
            passable_ = looked_;
            continue;
        }
        auto hello = handshake(bytes.substr(looked_ - size, size));
        if (hello.is != begins_as::more) return hello;
    }
    return is_over() || bytes.size() < 2 * client_opening::longest ? client_opening() : bad;
}

// A second message in the same record would pass unjudged. No client sends one, because the server answers first.
client_opening tls_hellos::handshake(std::string_view payload)
{
    client_opening bad{begins_as::bad, {}};
    message_.append(payload);
    if (message_[0] != client_hello) return bad;
    if (message_.size() < message_head) return {};
    const auto size = message_head + tls_reader{std::string_view(message_).substr(1)}.number(3);
    if (size > client_opening::longest || message_.size() > size) return bad;
    if (message_.size() < size) return {};
    auto hello = read_hello(std::string_view(message_).substr(message_head));
    message_.clear();
    passable_ = looked_;
    expects_ = is_first_ = false;
    return hello;
}

void tls_hellos::passed()
{
    looked_ -= passable_;
    passable_ = 0;
}

void tls_hellos::answer(std::string_view bytes)
{
    while (!bytes.empty() && !chosen_) {
        if (record_left_ == 0) {
            record_head_ += take_bytes(bytes, record_head - record_head_.size());
            if (record_head_.size() < record_head) return;
            record_type_ = record_head_[0];
            record_left_ = tls_reader{std::string_view(record_head_).substr(3)}.number(2);
            record_head_.clear();
            continue;
        }
        const auto payload = take_bytes(bytes, record_left_);
        record_left_ -= payload.size();
        if (record_type_ == handshake_record) answer_handshake(payload);
    }
}

void tls_hellos::answer_handshake(std::string_view payload)
{
    while (!payload.empty() && !chosen_) {
        if (message_left_ != 0) {
            message_left_ -= take_bytes(payload, message_left_).size();
            continue;
        }
        const bool has_type = message_head_.size() >= message_head;
        message_head_ += take_bytes(payload, (has_type ? up_to_random : message_head) - message_head_.size());
        if (message_head_.size() < message_head) return;
        const auto size = tls_reader{std::string_view(message_head_).substr(1)}.number(3);
        const bool is_hello = message_head_[0] == server_hello && size >= up_to_random - message_head;
        if (is_hello && message_head_.size() < up_to_random) continue;
        const bool retries = is_hello && std::string_view(message_head_).substr(up_to_random - 32) == retry_random;
        chosen_ = is_hello && !retries;
        retries_ = retries_ || retries;
        message_left_ = size - (message_head_.size() - message_head);
        message_head_.clear();
    }
}

}  // namespace cmcp
