#include "mcp/tool_profiles.hpp"

#include "text/star_pattern.hpp"
#include "text/words.hpp"

#include <algorithm>

namespace cmcp {

void tool_profiles::define(std::string profile, words tools)
{
    known_.insert_or_assign(std::move(profile), std::move(tools));
}

void tool_profiles::show_to(std::string principal, std::string profile)
{
    of_principal_.insert_or_assign(std::move(principal), std::move(profile));
}

std::string tool_profiles::names() const
{
    words all;
    for (const auto& [name, tools] : known_) all.push_back(name);
    return joined(all, ", ");
}

bool tool_profiles::means(std::string_view word, std::string_view tool) const
{
    const auto profile = known_.find(word);
    if (profile == known_.end()) return fits_star_pattern(word, tool);
    const auto& tools = profile->second;
    return std::any_of(tools.begin(), tools.end(), [tool](const auto& each) { return fits_star_pattern(each, tool); });
}

std::string_view tool_profiles::profile_of(const caller& who) const
{
    if (knows(who.profile)) return who.profile;
    const auto own = of_principal_.find(who.principal);
    if (own != of_principal_.end() && knows(own->second)) return own->second;
    return usual_.size() == 1 && knows(usual_.front()) ? std::string_view(usual_.front()) : std::string_view();
}

const tool_profiles::words& tool_profiles::words_for(const caller& who) const
{
    const auto profile = known_.find(profile_of(who));
    return profile == known_.end() ? usual_ : profile->second;
}

bool tool_profiles::names_any_of(const caller& who, const words& profiles) const
{
    const auto is_wanted = [&](std::string_view name) {
        return std::find(profiles.begin(), profiles.end(), name) != profiles.end();
    };
    const auto profile = profile_of(who);
    return profile.empty() ? std::any_of(usual_.begin(), usual_.end(), is_wanted) : is_wanted(profile);
}

bool tool_profiles::names(const caller& who, std::string_view tool) const
{
    return std::ranges::any_of(words_for(who), [&](const auto& word) {
        const auto profile = known_.find(word);
        return word == tool ||
               (profile != known_.end() && std::ranges::find(profile->second, tool) != profile->second.end());
    });
}

bool tool_profiles::shows(const caller& who, std::string_view tool) const
{
    const auto& words = words_for(who);
    return std::any_of(words.begin(), words.end(), [&](const auto& word) { return means(word, tool); });
}

}  // namespace cmcp
