#include "async/asio.hpp"
#include "commands/commands.hpp"
#include "commands/identity_common.hpp"
#include "config/config_error.hpp"
#include "config/load_settings.hpp"
#include "config/settings.hpp"
#include "connect/change.hpp"
#include "connect/client.hpp"
#include "connect/edited_file.hpp"
#include "connect/masked_line.hpp"
#include "egress/web_url.hpp"
#include "files/unified_diff.hpp"
#include "http/bound_address.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/access_token.hpp"
#include "server/act_record.hpp"
#include "text/words.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

namespace cmcp::command {

namespace {

// Where a client finds the server, and what the user should know of that.
struct connect_target {
    connect::server_entry server;
    bool wants_key = false;  ///< authorization is still to come, from a key that is made
    std::vector<std::string> notes;
};

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

// From the settings and the command line. Reads `--key -` from standard input. Throws config_error.
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

namespace fs = std::filesystem;
using connect::scope;

std::string client_names()
{
    std::vector<std::string> names;
    for (const auto& each : connect::clients()) names.emplace_back(each.name);
    return joined(names, ", ");
}

const connect::client& client_named(const std::string& name)
{
    if (const auto* known = connect::find_client(name)) return *known;
    if (const auto how = connect::by_hand(name); !how.empty()) throw config_error(std::string(how));
    throw config_error("\"" + name + "\" is no client that is known here; these are: " + client_names());
}

connect::user_paths user_paths_of(const environment& variables)
{
    return {{variables.begin(), variables.end()}, fs::current_path()};
}

connect::client_file file_of(const connect::client& of, const connect_words& line, const environment& variables)
{
    if (!line.file.empty()) return {line.file, fs::absolute(line.file).parent_path()};
    const scope where = line.scope == "project" ? scope::project : scope::user;
    if (auto known = of.file(user_paths_of(variables), where)) return *known;
    throw config_error(std::string(of.title) + " has no file in a project: leave --scope project out");
}

/// All that the command is about to do.
struct connection {
    const connect::client& client;
    const connect_words& line;
    connect::edited_file file;
    connect_target target;
    std::string text;  ///< that the file will have
    std::string diff;
    std::optional<std::string> copy{};  ///< of the former file
    std::string key_id{};
    bool written = false;

    bool changed() const { return text != file.text(); }
    bool has_secret() const { return target.wants_key || !target.server.authorization.empty(); }
};

std::string text_with(const connection& of)
{
    std::optional<connect::server_entry> server;
    if (!of.line.remove) server = of.target.server;
    return connect::changed_text(of.client, of.file.text(), of.line.name, server);
}

void note_file(connection& of)
{
    auto& notes = of.target.notes;
    if (of.file.is_linked()) notes.push_back("the file is behind a link: it is " + of.file.file().string());
    if (!of.has_secret()) return;
    if (of.line.scope == "project")
        notes.push_back("the key will be in a file of the project: keep that out of version control");
    if (of.file.others_may_read())
        notes.push_back(
            "other users of this machine may read the file now; with the key it gets mode 0600, and so does "
            "the copy of what it was");
}

connection prepare_connection(const loaded_settings& loaded, const connect_words& line, const environment& variables)
{
    const auto& client = client_named(line.client);
    connection all{client, line, connect::edited_file(file_of(client, line, variables), line.follow_link), {}, {}, {}};
    if (!line.remove) all.target = target_of(loaded, line, client);
    // The diff shows no secret, so a key that is still to be made looks the same.
    if (all.target.wants_key) all.target.server.authorization = "Bearer …";
    note_file(all);
    try {
        all.text = text_with(all);
    } catch (const std::runtime_error& reason) {
        throw config_error(all.file.file().string() + ", " + reason.what());
    }
    all.diff = unified_diff(all.file.text(), all.text, all.file.file().string(), connect::masked_line);
    return all;
}

void make_key_for(connection& of, const settings& config)
{
    key_order wanted;
    wanted.principal = of.line.create_key;
    wanted.profile = of.line.profile;
    wanted.note = "connect " + std::string(of.client.name);
    auto store = open_identities(config);
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    const bool first = !store.has_keys() && !config.callers_have_names();
    act_record act(config, "key create");
    const auto fresh = make_key(store, wanted, now.count());
    act.done(fresh.record.id + " of " + fresh.record.principal + " " + fresh.record.scopes);
    of.key_id = fresh.record.id;
    of.target.server.authorization = "Bearer " + fresh.key.text();
    of.text = text_with(of);
    if (first) of.target.notes.emplace_back("from its next start on the server takes only callers with a key or token");
}

bool agreed()
{
    std::cerr << "Write this? [y/N] " << std::flush;
    std::string answer;
    return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

void show_plan(const connection& of)
{
    std::cout << of.diff << std::flush;
    for (const auto& note : of.target.notes) std::cerr << "note: " << note << '\n';
}

void write_connection(connection& of, const settings& config)
{
    if (of.target.wants_key) make_key_for(of, config);
    const auto copy = of.file.replace(of.text, of.has_secret());
    if (copy) of.copy = copy->string();
    of.written = true;
}

void print_connection(const connection& of)
{
    json::object row;
    row["client"] = of.client.name;
    row["file"] = of.file.file().string();
    row["name"] = of.line.name;
    row["changed"] = of.changed();
    row["written"] = of.written;
    row["diff"] = of.diff;
    row["backup"] = of.copy ? json::value(*of.copy) : json::value();
    if (!of.key_id.empty()) row["key_id"] = of.key_id;
    row["notes"] = json::value_from(of.target.notes);
    std::cout << jsonrpc::write_json(row) << '\n';
}

void tell_written(const connection& of)
{
    std::cout << of.file.file().string() << " is written";
    if (of.copy) std::cout << "; the former file is " << *of.copy;
    std::cout << ".\n";
    if (!of.key_id.empty()) std::cout << "The key is " << of.key_id << " of " << of.line.create_key << ".\n";
    if (!of.line.remove) std::cout << of.client.title << ": " << of.client.afterwards << '\n';
}

void check_words(const connect_words& line, bool json)
{
    if (line.scope != "user" && line.scope != "project")
        throw config_error("--scope is user or project, not " + line.scope);
    if (line.name.empty() || line.name.size() > 64 ||
        line.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
            std::string::npos)
        throw config_error("--name takes 1 to 64 of letters, digits, '-' and '_'");
    if (!line.key.empty() && !line.create_key.empty()) throw config_error("--key and --create-key exclude each other");
    if (!line.yes && !line.dry_run && (json || ::isatty(STDIN_FILENO) == 0))
        throw config_error("nobody can be asked here: --yes writes the change, --dry-run only shows it");
}

}  // namespace

int connect_client(const loaded_settings& loaded, const connect_words& line, const environment& variables, bool json)
try {
    check_words(line, json);
    if (!line.create_key.empty()) check_new_name(line.create_key);
    auto all = prepare_connection(loaded, line, variables);
    if (!json) show_plan(all);
    if (!all.changed() && !json)
        std::cout << all.file.file().string()
                  << (line.remove ? " has no such entry; nothing is changed\n" : " has this entry already\n");
    const bool to_write = all.changed() && !line.dry_run;
    const bool writes = to_write && (line.yes || agreed());
    if (writes) write_connection(all, loaded.values);
    if (json)
        print_connection(all);
    else if (writes)
        tell_written(all);
    if (to_write && !writes) std::cerr << "nothing is changed\n";
    return to_write && !writes ? 1 : 0;
} catch (const std::invalid_argument& wrong) {
    throw config_error(wrong.what());
}

}  // namespace cmcp::command
