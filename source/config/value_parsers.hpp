#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Text to values and back. All parsers throw bad_value with a phrase that says what is allowed.
namespace cmcp::values {

bool parse_bool(std::string_view text);

/// A whole decimal number within [least, most].
std::uint64_t parse_number(std::string_view text, std::uint64_t least, std::uint64_t most);

/// Seconds, with at most three decimals, within [least, most].
std::chrono::milliseconds parse_seconds(std::string_view text, std::chrono::milliseconds least,
                                        std::chrono::milliseconds most);

/// Comma-separated words without surrounding space; empty ones are left out unless `keep_empty`.
std::vector<std::string> parse_list(std::string_view text, bool keep_empty = false);

/// One of `allowed`, whatever its case.
std::string parse_choice(std::string_view text, const std::vector<std::string>& allowed);

/// name=token,… with names of [a-z0-9_-] and tokens of at least 16 visible characters.
std::vector<std::pair<std::string, std::string>> parse_tokens(std::string_view text);

std::string print_seconds(std::chrono::milliseconds value);
std::string print_list(const std::vector<std::string>& items);

constexpr std::string_view blanks = " \t\r\n";
std::string upper(std::string_view text);

}  // namespace cmcp::values
