#include "config/upstream_entry.hpp"

#include "config/setting_kinds.hpp"
#include "text/star_pattern.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <tuple>

namespace cmcp {

namespace {

bool fits_any(const std::vector<std::string>& patterns, std::string_view name)
{
    const auto fits = [name](std::string_view pattern, bool refuses) {
        return pattern.starts_with('!') == refuses && fits_star_pattern(pattern.substr(refuses ? 1 : 0), name);
    };
    const auto some = [&](bool refuses) {
        return std::ranges::any_of(patterns, [&](const auto& each) { return fits(each, refuses); });
    };
    return some(false) && !some(true);
}

}  // namespace

bool upstream_entry::operator==(const upstream_entry& other) const
{
    const auto all = [](const upstream_entry& of) {
        return std::tie(of.name, of.url, of.command, of.headers, of.env, of.image, of.network, of.tools, of.principals,
                        of.timeout);
    };
    return all(*this) == all(other);
}

std::string upstream_entry::shown() const
{
    std::string text = joined(command, " ");
    if (!url.empty()) text = kinds::url().print(url.substr(0, url.find('?')));
    const auto add = [&text](std::string_view what, const std::string& value) {
        if (!value.empty()) text += "; " + std::string(what) + " " + value;
    };
    const auto hidden = [](const secrets& all) {
        std::vector<std::string> names;
        for (const auto& each : all) names.push_back(each.first + "=***");
        return joined(names, ",");
    };
    add("headers", hidden(headers));
    add("env", hidden(env));
    add("image", image);
    add("network", joined(network, ","));
    add("tools", joined(tools, ","));
    add("principals", joined(principals, ","));
    add("timeout", kinds::printed(timeout));
    return text;
}

bool upstream_entry::offers(std::string_view tool) const { return fits_any(tools, tool); }

bool upstream_entry::serves(std::string_view principal) const { return fits_any(principals, principal); }

}  // namespace cmcp
