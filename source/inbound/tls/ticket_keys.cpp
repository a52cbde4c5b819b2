#include "tls/ticket_keys.hpp"

#include <algorithm>
#include <stdexcept>

#include <openssl/rand.h>

namespace cmcp {

namespace {

template <std::size_t Size>
void fill(std::array<unsigned char, Size>& bytes)
{
    if (::RAND_bytes(bytes.data(), Size) != 1) throw std::runtime_error("OpenSSL has no random bytes");
}

ticket_keys::key fresh_key()
{
    ticket_keys::key fresh{};
    fill(fresh.name);
    fill(fresh.cipher);
    fill(fresh.mac);
    return fresh;
}

}  // namespace

void ticket_keys::turn(clock::time_point now)
{
    const auto periods = current_ ? (now - began_) / period_ : 2;
    if (periods == 0) return;
    previous_ = periods == 1 ? current_ : std::nullopt;
    current_ = fresh_key();
    began_ = now;
}

ticket_keys::key ticket_keys::to_make(clock::time_point now)
{
    const std::lock_guard held(mutex_);
    turn(now);
    return *current_;
}

std::optional<ticket_keys::opener> ticket_keys::to_open(const unsigned char* name, clock::time_point now)
{
    const std::lock_guard held(mutex_);
    turn(now);
    const auto named = [name](const key& one) { return std::equal(one.name.begin(), one.name.end(), name); };
    if (named(*current_)) return opener{*current_, false};
    if (previous_ && named(*previous_)) return opener{*previous_, true};
    return std::nullopt;
}

}  // namespace cmcp
