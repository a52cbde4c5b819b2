#pragma once

#include "http/http_request.hpp"
#include "http/seen_logins.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace cmcp {

/// The origin of the requests of a connection, which is the same for most of them.
struct connection_origin {
    login_ptr who;
    std::shared_ptr<const jsonrpc::request_origin> text;
};

/// Fills `origin` where there is an audit, and records the login where it is not among those that were `seen`.
void note_origin(http_request& request, connection_origin& known, seen_logins& seen);

/// Records a request of a route whose requests are in the audit. `status`: of the answer; 0: the peer was gone.
void record_request(const http_request& request, int status, std::chrono::duration<double> took);

/// Records a login. `by`: what the caller logged in with; empty: a client of its own.
void record_login(const http_request& request, const login& who, std::string_view by = {});

/// Records credentials that were not taken.
void record_refused_login(const http_request& request, std::string_view reason);

/// Why nothing may be done for the request: it would be in the audit, and could not be recorded; empty: it may.
std::string why_unrecordable(const http_request& request);

}  // namespace cmcp
