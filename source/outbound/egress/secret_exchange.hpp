#pragma once

#include "egress/proxy_connection.hpp"
#include "streams/byte_stream.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace cmcp {

/// A client's connection to a host that a secret is for. TLS ends here, with a certificate of the cell's own authority;
/// requests of HTTP/1 are read, the secret replaces its placeholder where it may stand, and they go on over TLS
/// that is verified. Answers come back with the secret masked. The connection must outlive this.
class secret_exchange {
public:
    explicit secret_exchange(proxy_connection& of) : of_(of) {}
    secret_exchange(const secret_exchange&) = delete;
    secret_exchange& operator=(const secret_exchange&) = delete;
    ~secret_exchange() = default;

    awaitable<> run();

private:
    using request_parser = proxy_connection::request_parser;
    using response_parser = proxy_connection::response_parser;

    /// The facts of a request that its answer depends on.
    struct request_facts {
        bool is_head = false, client_stays = false, upgrades = false, takes_chunks = false, may_repeat = false;
    };

    awaitable<bool> accept();
    awaitable<bool> serve_one();  ///< false: the connection ends
    awaitable<bool> exchange(request_parser& request, request_facts facts);
    request_facts prepare(request_parser& request, std::string target);
    void put_secrets(request_parser& request);
    void note_use(const held_secret& secret);
    awaitable<bool> let_body_come(bool is_awaited);

    // The server's side:
    awaitable<bool> reach();
    awaitable<bool> secure();
    bool is_usable();
    awaitable<bool> answers();  ///< reads the first bytes of an answer
    awaitable<> refuse_for(egress_error problem);
    void drop_upstream();
    awaitable<bool> send(request_parser& request);
    awaitable<bool> read_answer(std::optional<response_parser>& into, request_facts facts);

    // The client's side:
    awaitable<bool> give(response_parser& answer, request_facts facts);
    awaitable<bool> give_body(response_parser& answer, bool in_chunks);
    template <class Mask>
    awaitable<std::string> masked(std::shared_ptr<Mask> mask, std::string piece, bool is_end);
    awaitable<bool> write(std::string bytes);
    awaitable<> relay();
    awaitable<> pass(byte_stream& from, boost::beast::flat_buffer& before, byte_stream& to,
                     std::shared_ptr<const secret_masks> masks);
    void note_bad_websocket(const std::string& problem);
    awaitable<> tell(unsigned status, std::string rule, std::string sentence);
    awaitable<> refuse(unsigned status, std::string rule, std::string sentence);
    awaitable<> close();

    proxy_connection& of_;
    std::shared_ptr<boost::asio::ssl::context> context_;
    std::unique_ptr<byte_stream> client_, upstream_;
    std::shared_ptr<const target_secrets> secrets_;  ///< of the present request
    std::set<std::string> noted_;                    ///< names of secrets whose use is in the audit
    bool was_used_ = false;                          ///< upstream_ has had a request
};

}  // namespace cmcp
