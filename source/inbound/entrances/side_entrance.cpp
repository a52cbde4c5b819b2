#include "entrances/side_entrance.hpp"

#include "async/deadline_wheel.hpp"
#include "config/settings.hpp"
#include "http/member_caller.hpp"
#include "text/principal_name.hpp"

#include <algorithm>
#include <chrono>

#include <unistd.h>

namespace cmcp {

namespace {

// Longer than a member keeps a connection for its next request.
constexpr std::chrono::milliseconds idle_time_of_members(120'000);

// The commands use sandboxes of whichever principal has them.
login_ptr administrator(const http_request& request)
{
    const auto principal = request.header(field_of_principal).value_or("");
    if (!principal.empty() && !can_be_principal(principal)) return nullptr;
    auto who = std::make_shared<login>();
    who->credential = "admin socket";
    who->scopes = scope_set::all();
    who->principal = principal;
    return who;
}

}  // namespace

entrance_rules rules_for_administrators(const settings& config)
{
    entrance_rules rules{config, {administrator, "administrator", "Container-MCP-Principal names no principal."}};
    rules.config.trusted_proxies.clear();
    return rules;
}

settings settings_for_members(const settings& config)
{
    settings here = config;
    here.trusted_proxies.clear();
    here.allowed_hosts = here.allowed_origins = {"*"};  // the member has judged them
    here.tls_cert = config.cluster_cert;
    here.tls_key = config.cluster_key;
    here.tls_client_ca = config.cluster_ca;
    here.tls_client_auth = "require";
    here.tls_min = "1.3";
    here.idle_timeout = std::max(config.idle_timeout, idle_time_of_members);
    return here;
}

entrance_rules rules_for_members(const settings& config)
{
    const auto said = [](const http_request& request) { return request.member ? request.member->who : nullptr; };
    return {settings_for_members(config),
            {said, "member", "This port is for the other members of the cluster, which say for whom they ask."},
            true};
}

side_entrance::side_entrance(asio::io_context& io, bound_address place, entrance_rules by, gatekeeper& logins,
                             std::shared_ptr<memory_budget> memory)
    : rules(std::move(by)),
      guard(rules.config, logins, rules.by_way),
      listens(io, std::move(place)),
      context(rules.config, guard, routes, std::make_shared<deadline_wheel>(io.get_executor()), std::move(memory)),
      connections(io.get_executor())
{
    if (listens.address().is_secure()) context.tls = &tls.emplace(rules.config);
    context.of_members = rules.of_members;
}

side_entrance::~side_entrance() { stop(); }

void side_entrance::stop()
{
    if (std::exchange(stopped_, true)) return;
    listens.close();
    context.stopping = true;
    if (!rules.of_members) context.close_idle();
    if (!listens.address().path().empty()) ::unlink(listens.address().path().c_str());
}

}  // namespace cmcp
