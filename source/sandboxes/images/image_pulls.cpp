#include "images/image_pulls.hpp"

#include "images/image.hpp"
#include "text/ascii.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace cmcp {
namespace {

constexpr std::string_view library = "library/";

// The rule of image references: what stands before the first slash is a registry where it looks like a host.
std::string_view registry_of(std::string_view name)
{
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) return {};
    const auto first = name.substr(0, slash);
    const bool is_host = first.find_first_of(".:") != std::string_view::npos || equal_ignoring_case(first, "localhost");
    return is_host ? first : std::string_view();
}

std::string with_lower_case_registry(std::string_view name)
{
    const auto registry = registry_of(name);
    return lower_case(registry) + std::string(name.substr(registry.size()));
}

// A name of one word stands for one below library/ of the default registry.
std::string full_form(std::string_view name)
{
    const bool is_one_word = name.find('/') == std::string_view::npos;
    return (is_one_word ? std::string(library) : std::string()) + with_lower_case_registry(name);
}

bool is_loopback(std::string_view registry)
{
    const auto host = registry.substr(0, registry.find(':'));
    return equal_ignoring_case(host, "localhost") || host.starts_with("127.");
}

// A word ends with its tag or with a `*`, which stands for tags and digests, too.
std::string full_word(const std::string& word)
{
    std::string name = word;
    std::replace(name.begin(), name.end(), '*', 'x');
    if (is_loopback(registry_of(word)))
        throw image_error(
            "\"" + word +
            "\" names a registry of this machine's loopback, which skopeo asks past the egress guard: give "
            "it a name in /etc/hosts, or add its images by `container-mcp image add`.");
    const bool stars_alone = word.find_first_not_of('*') == std::string::npos;
    if (stars_alone || registry_of(word).find('*') != std::string_view::npos)
        throw image_error(
            "\"" + word +
            "\" would fetch from anywhere: name the registry, or an image of the default one, for example "
            "registry.example.com/team/* or python:*.");
    const bool tagged = image_name(name) == name;
    return full_form(tagged || word.ends_with('*') ? word : word + ":latest");
}

bool matches(const std::string& word, const std::string& name)
{
    return registry_of(word) == registry_of(name) && ::fnmatch(word.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

std::string fetched_name(std::string_view name)
{
    const std::string whole = with_lower_case_registry(image_name(name));
    const bool is_short = whole.starts_with(library) && whole.find('/', library.size()) == std::string::npos;
    return is_short ? whole.substr(library.size()) : whole;
}

image_pulls::image_pulls(const std::vector<std::string>& words)
{
    for (const auto& word : words) words_.push_back(full_word(word));
}

bool image_pulls::allow(std::string_view name) const
{
    const std::string whole = full_form(name);
    return std::any_of(words_.begin(), words_.end(), [&](const auto& word) { return matches(word, whole); });
}

std::vector<std::string> image_pulls::registries() const
{
    std::vector<std::string> all;
    for (const auto& word : words_) {
        const std::string registry(registry_of(word));
        if (!registry.empty()) all.push_back(registry.find(':') == std::string::npos ? registry + ":443" : registry);
    }
    return all;
}

}  // namespace cmcp
