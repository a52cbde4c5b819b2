#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <cstdint>

namespace cmcp::jsonrpc {

/// The handler of a json::basic_parser that takes any text and makes nothing of it. Others derive from it, and hide the
/// functions of what they want to hear.
struct no_values {
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    using text = json::string_view;
    using code = json::error_code;

    bool on_document_begin(code&) { return true; }
    bool on_document_end(code&) { return true; }
    bool on_object_begin(code&) { return true; }
    bool on_array_begin(code&) { return true; }
    bool on_object_end(std::size_t, code&) { return true; }
    bool on_array_end(std::size_t, code&) { return true; }
    bool on_key_part(text, std::size_t, code&) { return true; }
    bool on_key(text, std::size_t, code&) { return true; }
    bool on_string_part(text, std::size_t, code&) { return true; }
    bool on_string(text, std::size_t, code&) { return true; }
    bool on_number_part(text, code&) { return true; }
    bool on_int64(std::int64_t, text, code&) { return true; }
    bool on_uint64(std::uint64_t, text, code&) { return true; }
    bool on_double(double, text, code&) { return true; }
    bool on_bool(bool, code&) { return true; }
    bool on_null(code&) { return true; }
    bool on_comment_part(text, code&) { return true; }
    bool on_comment(text, code&) { return true; }
};

}  // namespace cmcp::jsonrpc
