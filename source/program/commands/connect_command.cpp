#include "commands/commands.hpp"
#include "commands/connect_target.hpp"
#include "commands/identity_common.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "connect/change.hpp"
#include "connect/edited_file.hpp"
#include "connect/masked_line.hpp"
#include "files/unified_diff.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/act_record.hpp"
#include "text/words.hpp"

#include <chrono>
#include <iostream>

#include <unistd.h>

namespace cmcp::command {

namespace {

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
