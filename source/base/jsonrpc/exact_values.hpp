#pragma once

#include "jsonrpc/no_values.hpp"

#include <charconv>
#include <cmath>
#include <string>

namespace cmcp::jsonrpc {

/// The handler of a json::basic_parser that builds the value as json::parser does, but with doubles that are the
/// nearest to their digits. The text may come in pieces.
struct exact_values : no_values {
    bool on_object_end(std::size_t size, code&) { return stack.push_object(size), true; }
    bool on_array_end(std::size_t size, code&) { return stack.push_array(size), true; }
    bool on_key_part(text part, std::size_t, code&) { return stack.push_chars(part), true; }
    bool on_key(text part, std::size_t, code&) { return stack.push_key(part), true; }
    bool on_string_part(text part, std::size_t, code&) { return stack.push_chars(part), true; }
    bool on_string(text part, std::size_t, code&) { return stack.push_string(part), true; }
    bool on_number_part(text part, code&) { return digits_before.append(part.data(), part.size()), true; }
    bool on_int64(std::int64_t number, text, code&) { return end_number(), stack.push_int64(number), true; }
    bool on_uint64(std::uint64_t number, text, code&) { return end_number(), stack.push_uint64(number), true; }
    bool on_bool(bool flag, code&) { return stack.push_bool(flag), true; }
    bool on_null(code&) { return stack.push_null(), true; }

    bool on_double(double number, text digits, code& failure)
    {
        if (!digits_before.empty()) digits = digits_before.append(digits.data(), digits.size());
        double exact = 0;
        const auto* end = digits.data() + digits.size();
        const auto [last, problem] = std::from_chars(digits.data(), end, exact);
        if (problem == std::errc() && last == end) number = exact;
        end_number();
        if (finite_alone && !std::isfinite(number)) return failure = json::error::exponent_overflow, false;
        return stack.push_double(number), true;
    }

    void end_number()
    {
        if (!digits_before.empty()) digits_before.clear();
    }

    json::value_stack stack;
    std::string digits_before;  // of a number that began in an earlier piece
    bool finite_alone = false;  // 1e400, which is read as infinity, is refused
};

}  // namespace cmcp::jsonrpc
