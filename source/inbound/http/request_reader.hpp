#pragma once

#include "async/memory_budget.hpp"
#include "http/client_socket.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "http/raw_header.hpp"
#include "http/request_guard.hpp"
#include "http/request_parser.hpp"
#include "http/router.hpp"
#include "http/trusted_proxies.hpp"
#include "identity/digest_memo.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class member_gateway;

struct http_settings;

/// Reads the next request of a connection within the limits of size and time.
class request_reader {
public:
    enum class outcome {
        request,  ///< `into` is to be answered
        refused,  ///< `refusal` is the answer; refusal.close tells whether the connection can go on
        closed    ///< the peer is gone or silent
    };

    /// `members`: whoever shows the certificate of one of them is believed for whom it asks; null: nobody.
    request_reader(client_socket& peer, const http_settings& limits, memory_budget& budget, const request_guard& guard,
                   const router& routes, const trusted_proxies& proxies, const member_gateway* members = nullptr)
        : peer_(peer),
          limits_(limits),
          budget_(budget),
          guard_(guard),
          routes_(routes),
          proxies_(proxies),
          members_(members)
    {
    }

    /// Waits until something of the next request has arrived. False: the peer is gone or silent.
    awaitable<bool> wait();
    bool begun() const { return peer_.buffer().size() != 0; }

    /// After wait().
    awaitable<outcome> next(http_request& into, http_reply& refusal);

    void interrupt_if_idle();  ///< ends wait()

private:
    std::size_t most_of_body(const http_request& request) const;
    void note_client(http_request& into);
    std::optional<http_reply> refuse_where_nothing_is(const http_request& request,
                                                      const std::optional<http_reply>& refused) const;
    awaitable<outcome> read_header(raw_header& header, raw_header::verdict verdict, http_reply& refusal);
    request_parser::state take_body(request_parser& parser);
    awaitable<outcome> read_body(request_parser& parser, request_parser::state progress, memory_budget::part& memory,
                                 bool keep, http_reply& refusal);
    outcome refuse(http_reply& refusal, int status, std::string_view sentence) const;
    outcome refuse(http_reply& refusal, request_parser::state progress, const request_parser& parser) const;

    client_socket& peer_;
    const http_settings& limits_;
    memory_budget& budget_;
    const request_guard& guard_;
    const router& routes_;
    const trusted_proxies& proxies_;
    const member_gateway* members_;
    digest_memo digests_;
    bool first_ = true;
    bool idle_ = false;
};

}  // namespace cmcp
