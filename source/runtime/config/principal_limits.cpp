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

constexpr std::array<limit_name, 12> names{{
    {"calls", &limits::calls, 1, "AUTH_QUOTAS=*:calls", true,
     "calls a minute, of tools, cells, uploads and shells; 0: any number"},
    {"runs", &limits::runs, 1, "AUTH_QUOTAS=*:runs", true, "runs at once; 0: all slots but one"},
    {"jobs", &limits::jobs, 1, "AUTH_QUOTAS=*:jobs", false, "runs in the background, those that wait included"},
    {"tasks", &limits::tasks, 1, "AUTH_QUOTAS=*:tasks", false, "tasks that are kept"},
    {"sandboxes", &limits::sandboxes, 1, "AUTH_QUOTAS=*:sandboxes", false, "sandboxes beside its default one"},
    {"machines", &limits::machines, 1, "AUTH_QUOTAS=*:machines", true, "sandboxes of class machine; 0: none"},
    {"kernels", &limits::kernels, 1, "AUTH_QUOTAS=*:kernels", false, "Python kernels that live"},
    {"shells", &limits::shells, 1, "AUTH_QUOTAS=*:shells", false, "shells that are open"},
    {"sessions", &limits::sessions, 1, "AUTH_QUOTAS=*:sessions", false, "sessions of the older revisions"},
    {"disk", &limits::disk, mebibyte, "SANDBOX_DISK_QUOTA", false, "MiB of all its sandboxes"},
    {"workspace", &limits::workspace, mebibyte, "SANDBOX_WORKSPACE_MAX_MB", true,
     "MiB of its default sandbox; 0: any number"},
    {"network", &limits::network, mebibyte, "AUTH_QUOTAS=*:network", true,
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
    all.jobs = 32;
    all.tasks = 1024;
    all.sandboxes = all.machines = 1000;
    all.kernels = 32;
    all.shells = 16;
    all.sessions = 20'000;
    all.disk = config.sandbox_disk_quota;
    all.workspace = config.workspace_max_size;
    apply_named(all, config, "*");
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
