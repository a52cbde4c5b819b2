#include "config/setting.hpp"

#include "config/setting_kinds.hpp"
#include "config/settings.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp {

namespace {

template <class Kind>
constexpr bool is_secret = false;
template <class Kind>
constexpr bool is_secret<kinds::secret<Kind>> = true;
template <class Kind>
constexpr bool is_secret<kinds::live<Kind>> = is_secret<Kind>;

template <class Kind>
constexpr bool is_live = false;
template <class Kind>
constexpr bool is_live<kinds::live<Kind>> = true;

template <class Kind, class Value, class Group>
setting row(std::string_view topic, std::string_view name, Value Group::*member, std::string_view by_default, Kind kind,
            std::string_view description, std::string_view toml = {})
{
    const auto parse = [=](settings& into, std::string_view text) { into.*member = static_cast<Value>(kind(text)); };
    const auto print = [=](const settings& from) {
        if constexpr (requires { kind.print(from.*member); })
            return kind.print(from.*member);
        else
            return kinds::printed(from.*member);
    };
    return {topic, name, by_default, is_secret<Kind>, is_live<Kind>, parse, print, description, toml};
}

// Topic by topic, in the order in which the documents have them; a topic's rows may stand in several lists.
void put_in_order(std::vector<setting>& all)
{
    constexpr std::array<std::string_view, 9> topics{"Server and log",
                                                     "Several servers as one",
                                                     "Limits, tasks and figures",
                                                     "Audit",
                                                     "Runs",
                                                     "Files and groups of tools",
                                                     "Web",
                                                     "Sandboxes and packages",
                                                     "Snapshots of sandboxes"};
    std::ranges::stable_sort(all, {}, [&](const setting& row) { return std::ranges::find(topics, row.topic); });
}

std::vector<setting> described_settings()
{
    using namespace kinds;
    using namespace std::chrono_literals;
    constexpr std::uint64_t many = 10'000'000;
    constexpr std::uint64_t mib = 1ull << 20;
    constexpr std::uint64_t terabyte = 1ull << 20;  // in MiB
    constexpr std::chrono::milliseconds day = 24h;

    std::vector<setting> all;
    std::string_view topic;
#define TOPIC(title) topic = title
#define SETTING(variable, type, member, ...) all.push_back(row(topic, variable, &settings::member, __VA_ARGS__))
#include "config/lists/sandbox.hpp"  // begins the topic to which others add

#include "config/lists/audit.hpp"
#include "config/lists/cluster.hpp"
#include "config/lists/execution.hpp"
#include "config/lists/http.hpp"
#include "config/lists/identity.hpp"
#include "config/lists/protocol.hpp"
#include "config/lists/server.hpp"
#include "config/lists/telemetry.hpp"
#include "config/lists/web.hpp"
#undef SETTING
#undef TOPIC
    put_in_order(all);
    return all;
}

}  // namespace

settings::settings()
{
    for (const auto& entry : setting_table()) {
        if (!entry.by_default.empty()) entry.parse(*this, entry.by_default);
    }
}

const std::vector<setting>& setting_table()
{
    static const std::vector<setting> table = described_settings();
    return table;
}

const setting* find_setting(std::string_view name)
{
    const auto& table = setting_table();
    const auto row = std::ranges::find(table, upper_case(name), &setting::name);
    return row == table.end() ? nullptr : &*row;
}

const setting* find_toml_setting(std::string_view path)
{
    const auto& table = setting_table();
    const auto row = std::ranges::find(table, path, &setting::toml);
    if (!path.empty() && row != table.end()) return &*row;
    std::string name(path);
    std::replace(name.begin(), name.end(), '.', '_');
    if (const auto* entry = find_setting(name)) return entry;
    return find_setting(path.substr(path.rfind('.') + 1));
}

std::string_view nearest_setting(std::string_view name)
{
    const std::string wanted = upper_case(name.substr(0, 64));
    const auto away = [&](const setting& entry) {
        const auto by_name = edit_distance(wanted, entry.name);
        return entry.toml.empty() ? by_name : std::min(by_name, edit_distance(wanted, upper_case(entry.toml)));
    };
    return std::ranges::min_element(setting_table(), {}, away)->name;
}

}  // namespace cmcp
