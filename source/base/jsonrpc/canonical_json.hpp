#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

/// Appends the value as canonical JSON (RFC 8785): equal values have the same text, whoever wrote them. Members are in
/// the order of their names, nothing is left blank, numbers are as ECMAScript writes them. Whole numbers of 64 bits
/// stay exact, where the RFC would round them.
void append_canonical(std::string& out, const json::value& value);
void append_canonical(std::string& out, const json::object& object);

/// SHA-256 of the object's canonical JSON, as 64 lower-case hexadecimal digits.
std::string canonical_digest(const json::object& object);

/// The order of two names: by their UTF-16 code units. Both are UTF-8.
bool comes_before(std::string_view one, std::string_view other);

}  // namespace cmcp::jsonrpc
