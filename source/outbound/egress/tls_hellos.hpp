#pragma once

#include "egress/client_opening.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// Follows a TLS connection from its first byte until the server has chosen, and finds every ClientHello in it: a
/// server that answers with a HelloRetryRequest (RFC 8446 section 4.1.4) reads another one, whose server name may be
/// another. Afterwards all handshake messages of TLS 1.3 are encrypted, and so is a renegotiation of TLS 1.2. Pure.
class tls_hellos {
public:
    /// `bytes`: what the client has sent and was not passed on; it grows until passed(). Says `tls` once for each
    /// ClientHello, `more` where nothing is to be judged so far, and `bad`. Each byte is looked at once.
    client_opening parse(std::string_view bytes);

    /// Bytes at the front that may go to the server, once the latest ClientHello was judged.
    std::size_t passable() const { return passable_; }
    void passed();  ///< they are not part of the next parse()

    /// Takes the bytes of the server in their order, before they reach the client.
    void answer(std::string_view bytes);

    /// The next bytes of the client are a handshake message, and only the server's answer says how it will be read.
    bool waits_for_answer() const { return waits_ && !is_over() && !retries_; }

    /// No ClientHello comes any more: everything may pass.
    bool is_over() const { return chosen_ && !expects_ && !retries_; }

private:
    client_opening handshake(std::string_view payload);
    void answer_handshake(std::string_view payload);

    // Of the client:
    std::size_t looked_ = 0;    // bytes in front that were looked at
    std::size_t passable_ = 0;  // and may pass
    std::string message_;       // as much of a ClientHello as was looked at
    bool expects_ = true;       // a ClientHello is what the server reads next
    bool is_first_ = true;
    bool waits_ = false;

    // Of the server:
    std::string record_head_, message_head_;
    std::size_t record_left_ = 0, message_left_ = 0;
    char record_type_ = 0;
    bool retries_ = false;  // a HelloRetryRequest was not followed by a ClientHello yet
    bool chosen_ = false;   // a ServerHello has come
};

}  // namespace cmcp
