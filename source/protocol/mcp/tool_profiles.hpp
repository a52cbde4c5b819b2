#pragma once

#include "mcp/caller.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The tools that a caller is shown: those of the profile that its address names, else of its principal's profile, else
/// the usual ones. A tool that a list leaves out stays callable by name.
class tool_profiles {
public:
    /// Names of tools, patterns in which * stands for any characters, and names of profiles.
    using words = std::vector<std::string>;

    void define(std::string profile, words tools);
    void show(words usual) { usual_ = std::move(usual); }
    void show_to(std::string principal, std::string profile);

    bool knows(std::string_view profile) const { return known_.contains(profile); }
    std::string names() const;  ///< of all profiles: "agent, all, seed-a"

    bool shows(const caller& who, std::string_view tool) const;
    /// Whether the caller's list of tools is one of these profiles, or names one.
    bool names_any_of(const caller& who, const words& profiles) const;

    /// Whether it shows the tool by its name, and not by a pattern.
    bool names(const caller& who, std::string_view tool) const;

    /// The profile that the caller is shown; empty: the usual tools are no single profile.
    std::string_view profile_of(const caller& who) const;
    bool by_principal() const { return !of_principal_.empty(); }

    /// Whether a word of a list means this tool.
    bool means(std::string_view word, std::string_view tool) const;

private:
    const words& words_for(const caller& who) const;

    std::map<std::string, words, std::less<>> known_;
    std::map<std::string, std::string, std::less<>> of_principal_;
    words usual_{"*"};
};

}  // namespace cmcp
