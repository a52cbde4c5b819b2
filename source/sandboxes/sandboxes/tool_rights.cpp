#include "sandboxes/tool_rights.hpp"

#include "config/sandbox_settings.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

tool_rights::tool_rights(const sandbox_settings& config)
    : config_(config), offered_(!config.sandbox_tools.empty() && config.sandbox_tools != setting_types::words{"none"})
{
}

tool_rights::ticket tool_rights::give(const caller& who, const std::string& sandbox)
{
    ticket fresh;
    if (!offered_) return fresh;
    auto as = std::make_shared<login>();
    as->principal = who.principal;
    as->credential = "code in " + sandbox;
    as->scopes = who.scopes;
    as->profile = who.profile;
    limit_to(who, sandbox);
    const std::string text = random_id();
    given_->emplace(text, right{std::move(as), sandbox, 0});
    fresh.held_ = {new std::string(text), [all = given_](const std::string* ended) {
                       all->erase(*ended);
                       delete ended;
                   }};
    return fresh;
}

void tool_rights::limit_to(const caller& who, const std::string& sandbox)
{
    if (!offered_) return;
    const auto known = scopes_.emplace(sandbox, who.scopes).first;
    known->second = known->second.common(who.scopes);
}

login_ptr tool_rights::login_of(std::string_view ticket, const std::string& sandbox) const
{
    const auto place = given_->find(ticket);
    if (place == given_->end() || place->second.sandbox != sandbox) return nullptr;
    auto who = std::make_shared<login>(*place->second.who);
    who->code = place_of(sandbox);
    const auto common = scopes_.find(sandbox);
    if (common != scopes_.end()) who->scopes = who->scopes.common(common->second);
    return who;
}

// Anew for each call, so that a reload of the settings counts at once.
calling_code_ptr tool_rights::place_of(const std::string& sandbox) const
{
    const auto& open = config_.sandbox_tools_reach_out;
    const auto reaches = [&](std::string_view what) { return std::ranges::find(open, what) != open.end(); };
    auto from = std::make_shared<calling_code>();
    from->sandbox = sandbox;
    from->network = reaches("network");
    from->sandboxes = reaches("sandboxes");
    from->default_sandbox = reaches("workspace");
    if (way_out_) from->way_out = [of = way_out_, sandbox] { return of(sandbox); };
    return from;
}

bool tool_rights::take_call(std::string_view ticket)
{
    const auto place = given_->find(ticket);
    if (place == given_->end() || place->second.calls >= config_.sandbox_tools_calls) return false;
    ++place->second.calls;
    return true;
}

}  // namespace cmcp
