#include "config/principal_limits.hpp"

#include "config/settings.hpp"
#include "text/number.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace cmcp {

namespace {

using limits = principal_limits;

constexpr std::uint64_t mebibyte = 1u << 20;
constexpr std::uint64_t most_of_any = 1u << 30;

constexpr std::array<limit_name, 11> names{{
    {"calls", &limits::calls, 1, "MCP_CALLS_PER_MINUTE", true,
     "calls a minute, of tools, cells, uploads and shells; 0: any number"},
    {"runs", &limits::runs, 1, "SANDBOX_MAX_RUNS_PER_CALLER", true, "runs at once; 0: all places but one"},
    {"jobs", &limits::jobs, 1, "SANDBOX_JOBS_PER_CALLER", false, "runs in the background, those that wait included"},
    {"tasks", &limits::tasks, 1, "MCP_MAX_TASKS_PER_CALLER", false, "tasks that are kept"},
    {"sandboxes", &limits::sandboxes, 1, "SANDBOX_MAX_PER_CALLER", false, "sandboxes beside its default one"},
    {"kernels", &limits::kernels, 1, "SANDBOX_KERNELS_PER_CALLER", false, "Python kernels that live"},
    {"shells", &limits::shells, 1, "SANDBOX_SHELLS_PER_CALLER", false, "shells that are open"},
    {"sessions", &limits::sessions, 1, "MCP_MAX_SESSIONS_PER_CALLER", false, "sessions of the older revisions"},
    {"disk", &limits::disk, mebibyte, "SANDBOX_DISK_QUOTA", false, "MiB of all its sandboxes"},
    {"workspace", &limits::workspace, mebibyte, "SANDBOX_WORKSPACE_MAX_MB", true,
     "MiB of its default sandbox; 0: any number"},
    {"network", &limits::network, mebibyte, "SANDBOX_NETWORK_MB_PER_HOUR", true,
     "MiB that its sandboxes receive and send in an hour; 0: any number"},
}};

std::string known_names()
{
    std::vector<std::string> all;
    std::ranges::transform(names, std::back_inserter(all), [](const auto& each) { return std::string(each.name); });
    return joined(all, ", ");
}

}  // namespace

std::span<const limit_name> limit_names() { return names; }

const limit_name* find_limit(std::string_view name)
{
    const auto* const at = std::ranges::find(names, name, &limit_name::name);
    return at == names.end() ? nullptr : at;
}

const limit_name& name_of(std::uint64_t principal_limits::*member)
{
    return *std::ranges::find(names, member, &limit_name::member);
}

principal_limits limits_from(const settings& config)
{
    limits all;
    all.calls = config.calls_per_minute;
    all.runs = config.max_runs_per_caller;
    all.jobs = config.jobs_per_caller;
    all.tasks = config.max_tasks_per_caller;
    all.sandboxes = config.sandbox_max_per_caller;
    all.kernels = config.kernels_per_caller;
    all.shells = config.shells_per_caller;
    all.sessions = config.max_sessions_per_caller;
    all.disk = config.sandbox_disk_quota;
    all.workspace = config.workspace_max_size;
    all.network = config.sandbox_network_bytes_per_hour;
    return all;
}

own_limit parse_limit(std::string_view text)
{
    const auto equals = std::min(text.find('='), text.size());
    const auto* const of = find_limit(text.substr(0, equals));
    const auto value = equals == text.size() ? std::nullopt : read_number<std::uint64_t>(text.substr(equals + 1));
    if (of == nullptr || !value)
        throw std::invalid_argument("\"" + std::string(text.substr(0, 100)) +
                                    "\" is no limit; write name=number with a name of " + known_names());
    if (*value > most_of_any || (*value == 0 && !of->may_be_zero))
        throw std::invalid_argument(std::string(text) + ": the number must be " + (of->may_be_zero ? "0" : "1") +
                                    " to " + std::to_string(most_of_any));
    return {of, *value};
}

named_limit parse_named_limit(std::string_view text)
{
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
        throw std::invalid_argument("\"" + std::string(text.substr(0, 100)) +
                                    "\" is no quota; write principal:name=number");
    return {text.substr(0, colon), parse_limit(text.substr(colon + 1))};
}

void apply_named(principal_limits& to, const settings& config, std::string_view principal)
{
    for (const auto& word : config.auth_quotas) {
        const auto own = parse_named_limit(word);
        if (own.principal == principal) to.*own.limit.of->member = own.limit.value * own.limit.of->unit;
    }
}

}  // namespace cmcp
