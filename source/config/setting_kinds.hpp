#pragma once

#include "config/settings.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A value that its setting does not allow; what() says what is allowed.
struct bad_value : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// The kinds of settings. parse() makes a value of a text or throws bad_value. A kind without print() is printed by
/// the type of its value.
namespace kinds {

struct flag {
    bool parse(std::string_view text) const;
};

/// A whole number of `unit`s within [least, most]; its value is in single ones.
class number {
public:
    number(std::uint64_t least, std::uint64_t most, std::uint64_t unit = 1) : least_(least), most_(most), unit_(unit) {}
    std::uint64_t parse(std::string_view text) const;
    std::string print(std::uint64_t value) const { return std::to_string(value / unit_); }

private:
    std::uint64_t least_, most_, unit_;
};

/// Seconds, with at most three decimals, within [least, most].
class seconds {
public:
    seconds(std::chrono::milliseconds least, std::chrono::milliseconds most) : least_(least), most_(most) {}
    std::chrono::milliseconds parse(std::string_view text) const;

private:
    std::chrono::milliseconds least_, most_;
};

class plain_text {
public:
    explicit plain_text(std::size_t longest = 4096) : longest_(longest) {}
    std::string parse(std::string_view text) const;

private:
    std::size_t longest_;
};

/// A word out of the allowed ones, in any case.
class choice {
public:
    explicit choice(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {}
    std::string parse(std::string_view text) const;

private:
    std::vector<std::string> allowed_;
};

struct log_level {
    std::string parse(std::string_view text) const;
};
struct log_format {
    std::string parse(std::string_view text) const;
};
struct host_name {
    std::string parse(std::string_view text) const;
};
struct absolute_path {
    std::string parse(std::string_view text) const;
};
struct engine_name {
    std::string parse(std::string_view text) const;
};

/// May be empty. A user's name and password in the URL are printed as ***.
struct url {
    std::string parse(std::string_view text) const;
    std::string print(const std::string& value) const;
};

struct file_path {
    std::filesystem::path parse(std::string_view text) const;
};

/// Not empty; becomes absolute.
struct folder {
    std::filesystem::path parse(std::string_view text) const;
};

/// Words separated by commas, without surrounding space.
struct word_list {
    settings::words parse(std::string_view text) const;
};
struct command_names {
    settings::words parse(std::string_view text) const;
};
struct extensions {
    settings::words parse(std::string_view text) const;
};

/// name=token,… with names of [a-z0-9_-] and tokens of at least 16 visible characters, each of them once.
struct bearer_tokens {
    settings::tokens parse(std::string_view text) const;
};

/// A kind whose values are never shown.
template <class Kind>
struct secret : Kind {
    static constexpr bool hidden = true;
    explicit secret(Kind kind) : Kind(std::move(kind)) {}
};

std::string printed(bool value);
std::string printed(std::chrono::milliseconds value);  ///< seconds
std::string printed(const std::string& value);
std::string printed(const std::filesystem::path& value);
std::string printed(const settings::words& value);
std::string printed(const settings::tokens& value);

}  // namespace kinds

}  // namespace cmcp
