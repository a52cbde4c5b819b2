#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// The daemon of E2B's data plane. It runs inside the cell as the sandbox's account, so whatever it does has the limits
/// and rights of the sandbox; it knows no secrets. One thread.
namespace cmcp::envd {

namespace asio = boost::asio;
namespace json = boost::json;

template <class T = void>
using awaitable = asio::awaitable<T>;

inline constexpr std::uint16_t usual_port = 49983, interpreter_port = 49999;
inline constexpr int server_channel = 3;  ///< where the server is told that the daemon listens

/// What a caller is told, with one of Connect's codes.
struct refusal : std::runtime_error {
    refusal(std::string its_code, const std::string& sentence) : std::runtime_error(sentence), code(std::move(its_code))
    {
    }
    std::string code;

    unsigned status() const;  ///< of HTTP
};

/// For an error of the system about a path.
refusal refusal_of(int error, const std::string& path);

/// At most `most`; 0: the text is no whole number from 0 on.
std::uint64_t number_in(std::string_view text, std::uint64_t most);

/// Wakes all who wait at that moment.
class signal {
public:
    explicit signal(asio::any_io_executor executor) : executor_(std::move(executor)) {}
    void raise();
    awaitable<bool> wait(asio::steady_timer::duration limit = std::chrono::hours(24 * 365));  ///< false: it is over

private:
    asio::any_io_executor executor_;
    std::list<asio::steady_timer> waiting_;
};

/// Whom a request means that names nobody, where there is this account.
inline constexpr std::string_view usual_user = "user";

/// What a template has chosen in place of usual_user and its home.
inline constexpr const char *variable_of_user = "E2B_DEFAULT_USER", *variable_of_folder = "E2B_DEFAULT_WORKDIR";

/// An account that a caller may name.
struct account {
    std::string name;
    std::string home;
    unsigned uid = 0, gid = 0;
    bool changes = false;  ///< the daemon is root and becomes it in a child
};

/// Of "Authorization: Basic" or the parameter `username`; empty: the sandbox's own. Throws refusal.
account find_account(std::string_view name);
std::string name_of_user(unsigned uid);
std::string name_of_group(unsigned gid);

/// The absolute path that a caller means.
std::string resolved(std::string_view path, const account& by);

std::string text(const json::object& from, std::string_view name);
bool flag(const json::object& from, std::string_view name, bool otherwise = false);
std::int64_t number(const json::object& from, std::string_view name, std::int64_t otherwise = 0);
const json::object& object(const json::object& from, std::string_view name);  ///< an empty one where it is missing

}  // namespace cmcp::envd
