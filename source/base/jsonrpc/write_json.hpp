#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp::jsonrpc {

/// The value as JSON text that every strict parser reads. Bytes that are not UTF-8 become U+FFFD; numbers are the
/// shortest decimal that reads back the same (41.6, not 4.16E1), a double with a point or an exponent (2.0), so that it
/// stays one; numbers that are not finite become null.
std::string write_json(const json::value& value);
std::string write_json(const json::object& object);
std::string write_json(std::string_view text);  ///< as a JSON string, quoted

/// The same, appended.
void append_json(std::string& out, const json::value& value);
void append_json(std::string& out, const json::object& object);
void append_json(std::string& out, std::string_view text);

/// How write_json() of the object begins: at least `most` bytes, or all. Takes as long as that, whatever the object
/// holds.
std::string json_beginning(const json::object& object, std::size_t most);

/// Puts a text together in a buffer that stays from one call to the next, so that only the result takes memory.
/// `append` must not come back here.
template <class Append>
std::string put_together(Append append)
{
    constexpr std::size_t most_retained = 64 * 1024;
    thread_local std::string buffer;
    buffer.clear();
    append(buffer);
    std::string text(buffer);
    if (buffer.capacity() > most_retained) buffer = std::string();
    return text;
}

}  // namespace cmcp::jsonrpc
