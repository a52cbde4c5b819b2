#pragma once

#include "identity/login.hpp"
#include "jsonrpc/message.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

class body_stream;
class digest_memo;
struct client_certificate;
struct long_body;
struct member_caller;
struct route;

/// A request as the routes see it: parsed, within the limits, admitted by the guard.
struct http_request {
    std::string method;  ///< as sent: methods are case-sensitive
    std::string path;    ///< before the '?', not decoded
    std::string query;   ///< after it
    int version = 11;    ///< 10 or 11
    bool keep_alive = true;
    std::string head;  ///< the header as sent; `fields` refer to it
    std::vector<std::pair<std::string_view, std::string_view>>
        fields;  ///< names in lower case, in the order of arrival; a list is in its first line
    std::vector<std::shared_ptr<const std::string>> lists;  ///< values of several lines, which `fields` refer to
    std::string body;
    std::string principal;                                  ///< that of `who`; empty: nobody has a name here
    std::shared_ptr<const jsonrpc::request_origin> origin;  ///< of `who`; null: there is no audit, or the route is open
    std::string concerns;  ///< for the audit: what an act of administration was done to; empty: the path tells
    login_ptr who;         ///< by the credentials; null: the route is open
    digest_memo* digests = nullptr;  ///< of the credentials that its connection brings
    bool login_pending = false;      ///< the credentials' issuer has to be asked first
    std::string address;             ///< of the client, without the port, as far as trusted proxies tell it
    bool secure = false;             ///< the client uses https, to this server or to a trusted proxy
    std::string forwarded_host;      ///< the Host that the client has sent to a trusted proxy; empty: as in Host
    std::shared_ptr<const client_certificate> certificate;  ///< that the client has shown, verified; null: none
    std::shared_ptr<const member_caller> member;  ///< a member of the cluster passes the request on; else null
    std::string id;                               ///< the request's name in the log and X-Request-Id
    const route* target = nullptr;                ///< of the route table; null: no route fits
    bool rpc_errors = true;                       ///< whether refusals have the form of JSON-RPC errors
    std::shared_ptr<body_stream> stream;          ///< in place of `body`, where the route reads it piece by piece
    std::shared_ptr<long_body> read_body;         ///< in place of `body`, where that was long JSON

    /// The field of this name, whatever its case. The lines of a list are one (RFC 9110 section 5.3); of any other
    /// field the first counts. The view lives as long as `fields` stay as they are.
    std::optional<std::string_view> header(std::string_view name) const;

    /// The lines of this name, which is in lower case.
    std::size_t count(std::string_view name) const;

    /// X-Request-Id as the client sent it; empty without a well-formed one.
    std::string client_id() const;

    /// The name in the certificate that the client has shown; empty: there is none.
    std::string_view certified_name() const;

    /// Whom the work for the request is charged to: its principal, or its address where nobody has a name.
    std::string payer() const;

    /// A parameter of the query, percent-decoded.
    std::optional<std::string> parameter(std::string_view name) const;

    /// The same; nothing where it is there without a value, as forms send what nobody has filled in.
    std::optional<std::string> filled_parameter(std::string_view name) const;
};

/// Makes one field of the lines of each list (RFC 9110 section 5.3). Fields that a message has once, and those whose
/// readers look at every line, stay as they are.
void join_lists(http_request& request);

/// Browsers name text/html in Accept; clients of MCP and curl do not.
bool takes_html(const http_request& request);

std::string percent_decoded(std::string_view text);

}  // namespace cmcp
