#pragma once

#include "config/setting_types.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
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

/// The kinds of settings: a call makes a value of a text or throws bad_value. A kind without print() is printed by the
/// type of its value.
namespace kinds {

/// A whole number of `unit`s within [least, most]; its value is in single ones.
class number {
public:
    number(std::uint64_t least, std::uint64_t most, std::uint64_t unit = 1) : least_(least), most_(most), unit_(unit) {}
    std::uint64_t operator()(std::string_view text) const;
    std::string print(std::uint64_t value) const { return std::to_string(value / unit_); }

private:
    std::uint64_t least_, most_, unit_;
};

template <class Value>
using parser = std::function<Value(std::string_view text)>;

/// Seconds, with at most three decimals, within [least, most].
parser<std::chrono::milliseconds> seconds(std::chrono::milliseconds least, std::chrono::milliseconds most);

parser<std::string> plain_text(std::size_t longest = 4096);

/// A word out of the allowed ones, in any case.
parser<std::string> choice(std::vector<std::string> allowed);

bool flag(std::string_view text);
std::string log_level(std::string_view text);
std::string log_format(std::string_view text);
std::string host_name(std::string_view text);
std::string preview_domain(std::string_view text);  ///< empty, or a DNS name, with :port where it is another one
std::string absolute_path(std::string_view text);
std::filesystem::path file_path(std::string_view text);
std::filesystem::path folder(std::string_view text);         ///< not empty; becomes absolute
setting_types::words issuer_list(std::string_view text);     ///< https addresses, on this machine also http
std::string scope_list(std::string_view text);               ///< "mcp:read mcp:run"
setting_types::words word_list(std::string_view text);       ///< words separated by commas, without surrounding space
setting_types::words reach_out_list(std::string_view text);  ///< network, sandboxes, workspace; or none
setting_types::words host_list(std::string_view text);    ///< the same; no scheme in front of a host, no path behind it
setting_types::words origin_list(std::string_view text);  ///< origins as browsers send them, or *
setting_types::words image_list(std::string_view text);   ///< the same; `=native` may follow a name
setting_types::words network_list(std::string_view text);  ///< addresses, networks as 10.0.0.0/8, `unix`
setting_types::words etcd_urls(std::string_view text);     ///< as etcd_endpoint.hpp reads them, all secure or none
std::string member_address(std::string_view text);         ///< empty, or host:port
setting_types::words label_list(std::string_view text);    ///< name=value, each name once
std::string store_url(std::string_view text);              ///< empty, or as store_address.hpp reads it
std::string region_name(std::string_view text);            ///< letters, digits, - and _
std::string encryption_key(std::string_view text);         ///< empty, or 64 hexadecimal digits
setting_types::words quota_list(std::string_view text);    ///< principal:name=number
setting_types::words command_names(std::string_view text);
setting_types::words extensions(std::string_view text);

/// name=token,… with names of [a-z0-9_-] and tokens of at least 16 visible characters, each of them once.
setting_types::tokens bearer_tokens(std::string_view text);

/// name=profile,… with names of tokens, each once.
setting_types::tokens token_profiles(std::string_view text);

/// May be empty. A user's name and password in the URL are printed as ***.
struct url {
    std::string operator()(std::string_view text) const;
    std::string print(const std::string& value) const;
};

/// A kind whose values are never shown.
template <class Kind>
struct secret : Kind {
    explicit secret(Kind kind) : Kind(std::move(kind)) {}
};

/// A kind whose values may change while the server runs (SIGHUP).
template <class Kind>
struct live {
    explicit live(Kind of) : kind(std::move(of)) {}
    auto operator()(std::string_view text) const { return kind(text); }
    template <class Value>
    requires requires(const Kind& of, const Value& value) { of.print(value); }
    auto print(const Value& value) const { return kind.print(value); }

    Kind kind;
};

std::string printed(bool value);
std::string printed(std::chrono::milliseconds value);  ///< seconds
std::string printed(const std::string& value);
std::string printed(const std::filesystem::path& value);
std::string printed(const setting_types::words& value);
std::string printed(const setting_types::tokens& value);

}  // namespace kinds

}  // namespace cmcp
