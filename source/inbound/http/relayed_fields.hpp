#pragma once

#include "http/http_request.hpp"

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

/// The header fields of requests and answers that pass through this server. Pure.
namespace cmcp {

using relayed_request_head = boost::beast::http::request<boost::beast::http::buffer_body>;
using relayed_answer_head = boost::beast::http::response_header<>;

/// Whether the comma-separated value names the token, whatever its case.
bool lists_token(std::string_view value, std::string_view token);

/// Whether `name` is one of these, whatever its case.
bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names);

/// Whether the field concerns one connection alone (RFC 9110 section 7.6.1); `connection`: the value of Connection.
bool is_hop_by_hop(std::string_view name, std::string_view connection);

/// Whether the request asks for a WebSocket in the way of RFC 6455 section 4.1.
bool wants_websocket(const http_request& request);

std::string_view relayed_value(const relayed_answer_head& from, boost::beast::http::field name);

/// With its line end; without characters that a line may not hold.
std::string status_line(const relayed_answer_head& from);

/// The head of an answer 101, without the empty line, where it accepts the WebSocket that was asked for; empty: it does
/// not.
std::string head_of_switch(const relayed_answer_head& from, const http_request& request);

}  // namespace cmcp
