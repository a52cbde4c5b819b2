#include "commands/connect_target.hpp"

#include "async/asio.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "egress/web_url.hpp"
#include "http/bound_address.hpp"
#include "server/access_token.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

namespace cmcp::command {

namespace {

namespace fs = std::filesystem;

constexpr auto time_to_connect = std::chrono::seconds(1);

std::string own_address(const settings& config)
{
    if (!config.public_url.empty()) return config.public_url;
    if (!unix_path_of(config.host).empty())
        throw config_error(
            "the server listens at a UNIX socket (MCP_HOST), which clients cannot reach: name an "
            "address with --url, or let the client start a server with --stdio");
    if (config.port == 0)
        throw config_error("MCP_PORT=0 takes any free port: name the address of the server that runs with --url");
    std::string host = config.host == "0.0.0.0" ? "127.0.0.1" : config.host == "::" ? "::1" : config.host;
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    return (config.tls_cert.empty() ? "http://" : "https://") + host + ":" + std::to_string(config.port);
}

web_url parsed(const std::string& address)
try {
    return web_url::parse(address);
} catch (const bad_url& reason) {
    throw config_error("the server's address: " + std::string(reason.what()));
}

// As people write it: with /mcp or without, with a profile or without.
web_url with_endpoint(web_url url, const std::string& profile)
{
    url.fragment.clear();
    std::string query;
    if (const auto mark = url.target.find('?'); mark != std::string::npos) {
        query = url.target.substr(mark);
        url.target.erase(mark);
    }
    while (url.target.ends_with('/')) url.target.pop_back();
    if (!url.target.ends_with("/mcp")) url.target += "/mcp";
    if (query.find("profile=") == std::string::npos) query += (query.empty() ? "?profile=" : "&profile=") + profile;
    url.target += query;
    return url;
}

void check_profile(const std::string& profile)
{
    const bool plain = profile.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
    if (profile.empty() || profile.size() > 64 || !plain)
        throw config_error("--profile " + profile + " cannot be the name of a profile; `agent` and `all` are some");
}

awaitable<> try_to_connect(web_url url, bool& answers)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::resolver resolver(executor);
    const std::string host = url.who.address ? url.who.address->to_string() : url.who.name;
    const std::string port = std::to_string(url.port);
    const auto places = co_await resolver.async_resolve(host, port, asio::use_awaitable);
    asio::ip::tcp::socket socket(executor);
    co_await asio::async_connect(socket, places, asio::use_awaitable);
    answers = true;
}

bool somebody_answers(const web_url& url)
{
    asio::io_context io(1);
    bool answers = false;
    asio::co_spawn(io, try_to_connect(url, answers), [](std::exception_ptr) {});
    io.run_for(time_to_connect);
    return answers;
}

bool stays_on_machine(const web_url& url)
{
    return url.who.address ? url.who.address->is_loopback() : url.who.name == "localhost";
}

std::string read_key(const std::string& word)
{
    std::string key = word;
    if (word == "-" && !std::getline(std::cin, key)) throw config_error("--key -: standard input has no key");
    const bool plain = std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"'; });
    if (key.empty() || !plain)
        throw config_error("--key takes a key or token of visible characters, as `container-mcp key create` shows it");
    return key;
}

// The token that the server itself has made is for everybody here; which of others is meant only the user knows.
void settle_key(connect_target& target, const settings& config, const connect_words& line)
{
    if (!line.key.empty()) target.server.authorization = "Bearer " + read_key(line.key);
    target.wants_key = !line.create_key.empty();
    if (!line.key.empty() || target.wants_key || !line.url.empty()) return;
    const auto needed = needed_access(config);
    if (!needed.token.empty()) {
        target.server.authorization = "Bearer " + needed.token;
        target.notes.push_back("the entry has the token of " + (config.sandbox_root / "auth-token").string());
    } else if (needed.by_login) {
        target.notes.push_back("the client logs in at the authorization server; --key takes a key instead");
    } else if (needed.is_needed) {
        throw config_error(
            "callers of this server need a key or token: give one with --key (--key - reads it from "
            "standard input), or let one be made with --create-key NAME");
    }
}

// The absolute path, because clients start programs with a PATH of their own.
std::vector<std::string> own_command(const loaded_settings& loaded, const std::string& profile)
{
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(), "stdio", "--set", "TOOLS=" + profile};
    if (!loaded.origins.contains("SANDBOX_ROOT")) return words;
    words.insert(words.end(), {"--sandbox-root", fs::absolute(loaded.values.sandbox_root).lexically_normal().string()});
    return words;
}

void note_address(connect_target& target, const web_url& url)
{
    if (!somebody_answers(url))
        target.notes.push_back("no server answers at " + url.origin() + " now; `container-mcp serve` starts one");
    const bool has_secret = target.wants_key || !target.server.authorization.empty();
    if (has_secret && !url.secure && !stays_on_machine(url))
        target.notes.push_back("the key goes over the network unencrypted, because the address is no https");
}

}  // namespace

connect_target target_of(const loaded_settings& loaded, const connect_words& line, const connect::client& of)
{
    check_profile(line.profile);
    connect_target target;
    const bool by_command = line.stdio || (!of.takes_http && line.url.empty());
    if (by_command) {
        if (!line.key.empty() || !line.create_key.empty())
            throw config_error(
                "a server over standard input and output asks for no key: leave --key and --create-key "
                "out");
        target.server.command = own_command(loaded, line.profile);
        return target;
    }
    if (!of.takes_http)
        target.notes.push_back(std::string(of.title) +
                               " starts programs only, so `npx mcp-remote` goes between: it needs Node.js");
    const auto url = with_endpoint(parsed(line.url.empty() ? own_address(loaded.values) : line.url), line.profile);
    target.server.url = url.text();
    settle_key(target, loaded.values, line);
    note_address(target, url);
    return target;
}

}  // namespace cmcp::command
