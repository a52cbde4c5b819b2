#include "commands/admin_lists.hpp"
#include "commands/commands.hpp"
#include "commands/remote_choice.hpp"
#include "config/config_error.hpp"
#include "config/labels.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/admin_socket.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <thread>

namespace cmcp::command {

namespace {

constexpr admin_list run_list{"/admin/runs", "runs", "Nothing runs."};
constexpr admin_list sandbox_list{"/admin/sandboxes", "sandboxes", "There are no sandboxes."};
constexpr admin_list session_list{"/admin/sessions", "sessions", "There are no sessions."};
constexpr admin_list job_list{"/admin/jobs", "jobs", "There are no jobs."};
constexpr admin_list usage_list{"/admin/usage", "principals", "Nobody has called yet."};
constexpr admin_list end_list{"/admin/ends", "ends", "No call has failed so far."};
constexpr admin_list member_list{"/admin/cluster", "members", "This server is alone (CLUSTER_ETCD is not set)."};
constexpr admin_list upstream_list{"/admin/layers", "upstreams", "config.toml names no other MCP servers."};

json::object ask_or_throw(const server_place& from, const std::string& method, const std::string& path)
{
    auto answer = ask_administration(from, method, path);
    if (answer.status < 300) return std::move(answer.body);
    const auto* sentence = answer.body.if_contains("error");
    throw std::runtime_error(sentence != nullptr && sentence->is_string()
                                 ? std::string(sentence->as_string())
                                 : "the server answers with HTTP status " + std::to_string(answer.status));
}

void print_admin_table(const admin_list& what, const json::object& answer, bool wide)
{
    const auto table = table_of(answer, what.member, wide || prints_whole());
    if (table.empty())
        std::cout << what.nothing << '\n';
    else
        std::cout << table.text(terminal_width());
}

void print_machine(const json::object& answer)
{
    const auto& machine = answer.at("machine").as_object();
    if (const auto node = text_of(answer, "node"); !node.empty()) std::cout << node << ": ";
    std::cout << count_in(machine, "runs") << " of " << count_in(machine, "max_runs") << " runs, "
              << count_in(machine, "runs_waiting") << " waiting; " << count_in(machine, "live") << " of "
              << count_in(machine, "sandboxes") << " sandboxes live; " << count_in(machine, "sessions") << " sessions; "
              << bytes_in(machine, "memory_bytes") << " of memory\n";
}

void print_machines(const json::object& answer)
{
    if (answer.contains("machine")) print_machine(answer);
    if (const auto* nodes = answer.if_contains("nodes"))
        for (const auto& each : nodes->as_array()) print_machine(each.as_object());
    std::cout << '\n';
}

void tell_unreachable(const json::object& answer)
{
    if (const auto* nodes = answer.if_contains("unreachable_nodes"))
        for (const auto& each : nodes->as_array())
            std::cerr << "container-mcp: the server " << std::string_view(each.as_string()) << " does not answer\n";
}

// The query of a list.
std::string query_of(const admin_list& what, const admin_line& line)
{
    std::string query;
    const auto add = [&query](const std::string& part) { query += (query.empty() ? "?" : "&") + part; };
    if (line.all) add("node=*");
    if (&what == &sandbox_list && !line.match.empty()) add("match=" + in_query(line.match));
    if (&what == &sandbox_list && !line.ids.empty()) add("limit=1000");
    return query;
}

int show(const server_place& from, const admin_list& what, bool json, const admin_line& line = {})
{
    const auto answer = ask_or_throw(from, "GET", std::string(what.path) + query_of(what, line));
    tell_unreachable(answer);
    if (json) {
        std::cout << jsonrpc::write_json(answer) << '\n';
        return 0;
    }
    if (&what == &usage_list) print_machines(answer);
    print_admin_table(what, answer, line.wide);
    if (const auto next = text_of(answer, "next"); !next.empty())
        std::cout << "… of " << count_in(answer, "total") << "; --match TEXT chooses\n";
    return 0;
}

struct entry {
    std::string id;
    std::string node;  // empty: this server
};

// The entry that a person's word names.
entry entry_named(const server_place& from, const admin_list& among, const admin_line& line, const std::string& word)
{
    const auto answer = ask_or_throw(from, "GET", std::string(among.path) + query_of(among, line));
    std::vector<entry> entries;
    for (const auto& row : answer.at(among.member).as_array()) {
        entry each{text_of(row.as_object(), "id"), text_of(row.as_object(), "node")};
        if (each.id == word) return each;
        if (names_handle(word, each.id) || (!word.empty() && text_of(row.as_object(), "name") == word))
            entries.push_back(std::move(each));
    }
    if (entries.size() > 1) throw std::runtime_error(word + " names several; give more of the id");
    return entries.empty() ? entry{word, {}} : entries.front();
}

std::string address_of(const admin_list& among, const entry& which)
{
    const std::string node = which.node.empty() ? "" : "?node=" + in_query(which.node);
    return std::string(among.path) + "/" + in_query(which.id) + node;
}

int end_each(const server_place& from, const admin_list& among, const admin_line& line, bool json)
{
    json::array rows;
    bool all_ended = true;
    for (const auto& word : line.ids) {
        const auto which = entry_named(from, among, line, word);
        const auto& id = which.id;
        const auto answer = ask_administration(from, "DELETE", address_of(among, which));
        const bool ended = answer.status == 200;
        all_ended = all_ended && ended;
        rows.push_back(json::object{{"id", id}, {"ended", ended}});
        if (json) continue;
        if (ended)
            std::cout << id << " ended\n";
        else
            std::cerr << "container-mcp: " << word << ": " << text_of(answer.body, "error") << '\n';
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return all_ended ? 0 : 1;
}

int reload(const server_place& from, bool json)
{
    const auto answer = ask_or_throw(from, "POST", "/admin/reload");
    if (json) {
        std::cout << jsonrpc::write_json(answer) << '\n';
        return 0;
    }
    const auto tell = [&answer](const char* member, const char* words) {
        for (const auto& name : answer.at(member).as_array())
            std::cout << std::string_view(name.as_string()) << ' ' << words << '\n';
    };
    tell("changed", "changed");
    tell("needs_restart", "needs a restart");
    if (answer.at("changed").as_array().empty() && answer.at("needs_restart").as_array().empty())
        std::cout << "No setting has changed; certificate and log file were read again.\n";
    return 0;
}

int show_upstreams(const server_place& from, bool json)
{
    if (!json) return show(from, upstream_list, json);
    const auto answer = ask_or_throw(from, "GET", std::string(upstream_list.path));
    std::cout << jsonrpc::write_json(answer.at(upstream_list.member)) << '\n';
    return 0;
}

// ---------------------------------------------------------------- cluster
int print_or_say(const json::object& answer, bool json, const std::string& sentence)
{
    std::cout << (json ? jsonrpc::write_json(answer) : sentence) << '\n';
    return 0;
}

std::string sandboxes_text(std::size_t count)
{
    return std::to_string(count) + (count == 1 ? " sandbox" : " sandboxes");
}

std::string place_in_cluster(const char* what, const std::string& node)
{
    return std::string("/admin/cluster/") + what + (node.empty() ? "" : "?node=" + in_query(node));
}

// Wherever the sandbox is.
int move_to_other(const server_place& from, admin_line line, bool json)
{
    line.all = true;
    const auto which = entry_named(from, sandbox_list, line, line.ids.front());
    const auto to = line.ids.size() > 1 ? "&to=" + in_query(line.ids[1]) : std::string();
    const auto node = which.node.empty() ? line.node : which.node;
    const auto place = place_in_cluster("move", node) + (node.empty() ? "?" : "&");
    const auto answer = ask_or_throw(from, "POST", place + "sandbox=" + in_query(which.id) + to);
    return print_or_say(answer, json, which.id + " is at " + text_of(answer, "node") + " now");
}

int drain(const server_place& from, const admin_line& line, bool json)
{
    constexpr std::chrono::seconds between_looks(1);
    const auto place = place_in_cluster("drain", line.node);
    auto answer = ask_or_throw(from, "POST", place);
    while (line.wait && count_of(answer, "sandboxes") != 0) {
        std::this_thread::sleep_for(between_looks);
        answer = ask_or_throw(from, "POST", place);
    }
    const auto left = count_of(answer, "sandboxes");
    return print_or_say(answer, json,
                        "The server takes nothing new, and has " + sandboxes_text(left) +
                            (left == 0 ? "." : ", which go as they become idle."));
}

/// A server that fetches an image.
struct pull {
    std::string node;
    bool is_over = false, is_there = false;
    std::string said{};
};

void look_at(const server_place& from, const std::string& image, pull& at)
{
    const auto answer =
        ask_administration(from, "POST", "/admin/images?image=" + in_query(image) + "&node=" + in_query(at.node));
    at.is_there = flag_of(answer.body, "there");
    at.is_over = at.is_there || answer.status >= 300;
    at.said = at.is_there ? "has it" : text_of(answer.body, answer.status < 300 ? "progress" : "error");
    if (at.said.empty()) at.said = "HTTP status " + std::to_string(answer.status);
}

std::vector<pull> servers_with(const server_place& from, const std::vector<std::string>& labels)
{
    const auto wanted = read_labels(labels);
    if (!wanted) throw config_error("--labels takes names with values, as gpu=a100,zone=b");
    std::vector<pull> all;
    const auto answer = ask_or_throw(from, "GET", std::string(member_list.path));
    for (const auto& row : answer.at(member_list.member).as_array()) {
        label_map there;
        for (const auto& each : object_of(row.as_object(), "labels"))
            there.emplace(each.key(), each.value().as_string());
        if (text_of(row.as_object(), "state") != "gone" && has_labels(there, *wanted))
            all.push_back({text_of(row.as_object(), "name")});
    }
    if (all.empty()) throw config_error("no server has the labels " + labels_text(*wanted));
    return all;
}

// Servers go on by themselves, whoever asks.
int pull_image(const server_place& from, const admin_line& line, bool json)
{
    constexpr std::chrono::seconds between_looks(1);
    auto all = servers_with(from, line.labels);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (auto& each : all) {
            if (each.is_over) continue;
            const auto before = each.said;
            look_at(from, line.ids.front(), each);
            goes_on = goes_on || !each.is_over;
            if (!json && each.said != before) std::cout << each.node << ": " << each.said << std::endl;
        }
        if (goes_on) std::this_thread::sleep_for(between_looks);
    }
    json::array rows;
    for (const auto& each : all) rows.push_back({{"node", each.node}, {"there", each.is_there}, {"said", each.said}});
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return std::ranges::all_of(all, &pull::is_there) ? 0 : 1;
}

int change_cluster(const server_place& from, const admin_line& line, bool json)
{
    if (line.action == "move") return move_to_other(from, line, json);
    if (line.action == "pull") return pull_image(from, line, json);
    if (line.action == "drain") return drain(from, line, json);
    if (line.action == "undrain")
        return print_or_say(ask_or_throw(from, "DELETE", place_in_cluster("drain", line.node)), json,
                            "The server takes sandboxes again.");
    const auto answer = ask_or_throw(from, "POST", place_in_cluster("rebalance", line.node));
    return print_or_say(answer, json, "Gave away " + sandboxes_text(count_of(answer, "moved")) + ".");
}

}  // namespace

bool is_admin_command(std::string_view command)
{
    constexpr std::array<std::string_view, 10> commands{"upstream", "ps",    "kill", "sandboxes", "sessions",
                                                        "jobs",     "usage", "ends", "cluster",   "reload"};
    return std::find(commands.begin(), commands.end(), command) != commands.end();
}

int administer(const loaded_settings& loaded, const std::string& command, const admin_line& line, bool json)
{
    const auto& config = loaded.values;
    if (command == "cluster" && line.action == "check") return check_cluster(config, json);
    if (command == "cluster" && line.action == "rebuild") return rebuild_owners(config, line.dry_run, json);
    const auto from = place_of(config, line.server);
    if (command == "ps") return show(from, run_list, json, line);
    if (command == "kill") return end_each(from, run_list, line, json);
    if (command == "usage") return show(from, usage_list, json, line);
    if (command == "ends") return show(from, end_list, json, line);
    if (command == "cluster" && !line.action.empty()) return change_cluster(from, line, json);
    if (command == "cluster") return show(from, member_list, json);
    if (command == "upstream") return show_upstreams(from, json);
    if (command == "reload") return reload(from, json);
    const auto& list = command == "sandboxes" ? sandbox_list : command == "sessions" ? session_list : job_list;
    if (!line.action.empty()) return end_each(from, list, line, json);
    return show(from, list, json, line);
}

}  // namespace cmcp::command
