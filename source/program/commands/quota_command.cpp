#include "commands/commands.hpp"
#include "commands/identity_common.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/act_record.hpp"
#include "server/sandbox_start.hpp"
#include "store/sandbox_store.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <stdexcept>

namespace cmcp::command {

namespace {

constexpr int width_of_name = 10, width_of_number = 10;

int show_names(const settings& config, bool json)
{
    const auto everybody = limits_from(config);
    json::array rows;
    for (const auto& each : limit_names()) {
        const auto value = everybody.*each.member / each.unit;
        if (json)
            rows.push_back(
                {{"name", each.name}, {"everybody", value}, {"setting", each.setting}, {"is", each.meaning}});
        else
            std::cout << std::left << std::setw(width_of_name) << each.name << std::right << std::setw(width_of_number)
                      << value << "  " << each.meaning << " (" << each.setting << ")\n";
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

struct shown_quota {
    std::string principal;
    std::string name;
    std::uint64_t value;
    std::string_view from;
};

// As the server takes them: the store's go before those of the setting.
std::vector<shown_quota> all_quotas(identity_store& store, const settings& config)
{
    std::vector<shown_quota> all;
    for (const auto& each : store.limits())
        all.push_back({each.principal, each.name, each.value, "container-mcp quota"});
    for (const auto& word : config.auth_quotas) {
        const auto named = parse_named_limit(word);
        const auto same = [&](const shown_quota& known) {
            return known.principal == named.principal && known.name == named.limit.of->name;
        };
        if (std::ranges::none_of(all, same))
            all.push_back(
                {std::string(named.principal), std::string(named.limit.of->name), named.limit.value, "AUTH_QUOTAS"});
    }
    std::ranges::stable_sort(all, {}, &shown_quota::principal);
    return all;
}

int list_quotas(identity_store& store, const settings& config, bool json)
{
    json::array rows;
    for (const auto& each : all_quotas(store, config)) {
        if (json)
            rows.push_back(
                {{"principal", each.principal}, {"name", each.name}, {"value", each.value}, {"from", each.from}});
        else
            std::cout << each.principal << "  " << each.name << '=' << each.value << "  (" << each.from << ")\n";
    }
    if (json) std::cout << jsonrpc::write_json(rows) << '\n';
    return 0;
}

int clear(identity_store& store, const identity_line& line, const settings& config)
{
    act_record act(config, "quota clear");
    auto names = line.limits;
    if (names.empty())
        for (const auto& each : store.limits_of(line.what)) names.push_back(each.name);
    for (const auto& name : names) {
        if (find_limit(name) == nullptr)
            throw config_error("\"" + name + "\" is no limit; `container-mcp quota names` shows them");
        store.clear_limit(line.what, name);
    }
    act.done(line.what + " " + joined(names, " "));
    std::cout << line.what << " has the limits of everybody" << (line.limits.empty() ? "" : " in these") << " again\n";
    return 0;
}

// Those that have a token, a key or a link, and those that have made a sandbox.
bool is_known(const std::string& principal, identity_store& store, const settings& config)
{
    const auto is_it = [&](const auto& each) { return each.principal == principal; };
    if (std::ranges::any_of(config.auth_tokens, [&](const auto& each) { return each.first == principal; })) return true;
    if (std::ranges::any_of(store.keys(), is_it) || std::ranges::any_of(store.links(), is_it)) return true;
    const auto records = config.sandbox_root / "sandboxes/sandboxes.sqlite";
    return std::filesystem::exists(records) && sandbox_store(records).count(principal) != 0;
}

// Callers without a name have the limits of everybody, and the name under which figures count them is no principal.
void refuse_nameless(const std::string& principal)
{
    constexpr std::string_view names[] = {"default", "-", "anonymous"};
    if (std::ranges::find(names, principal) == std::end(names)) return;
    throw config_error(
        "\"" + principal +
        "\" stands for callers without a name, who have the limits of everybody: change the settings that "
        "`container-mcp quota names` shows, or give callers names (`container-mcp key create`)");
}

int set(identity_store& store, const identity_line& line, const settings& config)
{
    check_principal_name(line.what);
    const bool known = is_known(line.what, store, config);
    if (!known) refuse_nameless(line.what);
    const auto limits = parse_limits(line.limits);
    act_record act(config, "quota set");
    for (const auto& own : limits) {
        store.set_limit({line.what, std::string(own.of->name), own.value});
        std::cout << line.what << ": " << own.of->name << '=' << own.value << ", " << own.of->meaning << '\n';
    }
    act.done(line.what + " " + joined(line.limits, " "));
    if (!known)
        std::cout << "No principal named " << line.what
                  << " has called yet or has a key, a token or a link: the limits count once one calls.\n";
    return 0;
}

}  // namespace

identity_store open_identities(const settings& config)
{
    prepare_sandbox_root(config);
    return identity_store(identity_store::file_in(config.sandbox_root));
}

int quota(const loaded_settings& loaded, const identity_line& line, bool json)
try {
    if (line.action == "names") return show_names(loaded.values, json);
    auto store = open_identities(loaded.values);
    if (line.action == "list") return list_quotas(store, loaded.values, json);
    return line.action == "set" ? set(store, line, loaded.values) : clear(store, line, loaded.values);
} catch (const std::invalid_argument& wrong) {
    throw config_error(wrong.what());
}

}  // namespace cmcp::command
