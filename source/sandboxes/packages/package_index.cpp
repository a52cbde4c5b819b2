#include "packages/package_index.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <tuple>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_files = 100'000;           // that are remembered
constexpr std::string_view about_file = ".metadata";  // beside each file whose page says so (PEP 658)

// The port that a scheme has by itself stays unsaid.
web_url plain(web_url url)
{
    if (url.port == (url.secure ? 443 : 80)) url.port = 80;
    url.secure = false;
    return url;
}

std::string key_of(web_url url)
{
    url.fragment.clear();
    return plain(std::move(url)).text();
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> entities{
    {{"&amp;", "&"}, {"&#38;", "&"}, {"&#x26;", "&"}, {"&quot;", "\""}}};

std::string unescaped(std::string_view text)
{
    std::string clear;
    while (!text.empty()) {
        std::string_view taken = text.substr(0, 1), meant = taken;
        for (const auto& [entity, character] : entities)
            if (text.starts_with(entity)) std::tie(taken, meant) = std::pair(entity, character);
        clear += meant;
        text.remove_prefix(taken.size());
    }
    return clear;
}

std::string escaped(std::string_view text)
{
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '\'')
            safe += "%27";
        else
            safe += c;
    }
    return safe;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// A tag of an HTML page, read attribute by attribute.
struct tag_reader {
    std::string_view page;
    std::size_t at;  ///< after the tag's name

    /// The name of the next attribute in lower case, and where its value is; no name: the tag is over.
    std::string next(std::size_t& begin, std::size_t& end);

private:
    bool more() const { return at < page.size(); }
    void skip_space()
    {
        while (more() && is_space(page[at])) ++at;
    }
    void read_value(std::size_t& begin, std::size_t& end);
};

std::string tag_reader::next(std::size_t& begin, std::size_t& end)
{
    while (more() && (is_space(page[at]) || page[at] == '/')) ++at;
    const std::size_t name = at;
    while (more() && !is_space(page[at]) && page[at] != '=' && page[at] != '>' && page[at] != '/') ++at;
    std::string attribute = lower_case(page.substr(name, at - name));
    skip_space();
    begin = end = at;
    if (!more() || page[at] != '=') return attribute;
    ++at;
    skip_space();
    read_value(begin, end);
    return attribute;
}

void tag_reader::read_value(std::size_t& begin, std::size_t& end)
{
    const bool quoted = more() && (page[at] == '"' || page[at] == '\'');
    begin = quoted ? at + 1 : at;
    end = quoted ? page.find(page[at], begin) : page.find_first_of(" \t\n\r\f>", begin);
    if (end == std::string_view::npos) end = page.size();
    at = std::min(page.size(), quoted ? end + 1 : end);
}

bool is_tag(std::string_view page, std::size_t at, std::string_view name)
{
    const std::size_t after = at + 1 + name.size();
    return after < page.size() && equal_ignoring_case(page.substr(at + 1, name.size()), name) && is_space(page[after]);
}

void add_file(package_index::read_page& to, std::string key, web_url url)
{
    url.fragment.clear();
    if (to.files.size() < most_files) to.files.emplace_back(std::move(key), std::move(url));
}

package_index::read_page read_links(web_url from, const std::string& page)
{
    package_index::read_page read;
    std::size_t done = 0;
    each_link(page, [&](bool is_base, std::size_t begin, std::size_t end) {
        std::string shown;
        try {
            web_url url = from.follow(unescaped(std::string_view(page).substr(begin, end - begin)));
            shown = escaped(plain(url).text());
            if (is_base)
                from = url;
            else
                add_file(read, key_of(url), url);
        } catch (const bad_url&) {  // no file is there
            shown.clear();
        }
        read.text.append(page, done, begin - done).append(shown);
        done = end;
    });
    read.text.append(page, done);
    return read;
}

web_url with_slash(web_url url)
{
    url.fragment.clear();
    if (!url.target.ends_with('/')) url.target += '/';
    return url;
}

}  // namespace

void each_link(std::string_view page, const std::function<void(bool, std::size_t, std::size_t)>& see)
{
    for (std::size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
        const bool is_base = is_tag(page, at, "base");
        if (!is_base && !is_tag(page, at, "a")) continue;
        tag_reader tag{page, at + (is_base ? 5 : 2)};
        std::size_t begin = 0, end = 0;
        for (std::string name = tag.next(begin, end); !name.empty(); name = tag.next(begin, end)) {
            if (name != "href" || begin == end) continue;
            see(is_base, begin, end);
            break;
        }
        at = std::max(at + 1, end) - 1;
    }
}

package_index::package_index(package_kind kind, web_url root) : kind_(kind), root_(with_slash(std::move(root))) {}

std::string package_index::plain_root() const { return key_of(root_); }

// Every pip reads HTML, and only new ones JSON; npm asks for no more than an installation needs.
const char* package_index::accepted_pages() const
{
    return kind_ == package_kind::pip ? "text/html"
                                      : "application/vnd.npm.install-v1+json, application/json;q=0.8, */*;q=0.1";
}

std::optional<package_index::place> package_index::find(std::string_view address) const
try {
    const std::string key = key_of(web_url::parse(address));
    auto page = find_page(key);
    if (page && key.ends_with('/')) return page;  // some pages link to others
    if (const auto file = find_file(key)) return place{*file, false};
    return page;
} catch (const bad_url&) {
    return std::nullopt;
}

std::optional<web_url> package_index::find_file(const std::string& key) const
{
    if (const auto file = named_.find(key); file != named_.end()) return file->second;
    if (!key.ends_with(about_file)) return std::nullopt;
    const auto file = named_.find(key.substr(0, key.size() - about_file.size()));
    if (file == named_.end()) return std::nullopt;
    web_url beside = file->second;
    beside.target += about_file;
    return beside;
}

std::optional<package_index::place> package_index::find_page(const std::string& key) const
{
    static const std::regex pip("[A-Za-z0-9][A-Za-z0-9._-]*/?");
    static const std::regex npm("(@[A-Za-z0-9][A-Za-z0-9._~-]*(%2[fF]|/))?[A-Za-z0-9_][A-Za-z0-9._~-]*");
    const std::string root = plain_root();
    if (!key.starts_with(root) || key.size() > root.size() + 300) return std::nullopt;
    const std::string name = key.substr(root.size());
    if (!std::regex_match(name, kind_ == package_kind::pip ? pip : npm)) return std::nullopt;
    place page{root_, true};
    page.url.target += name;
    if (kind_ == package_kind::pip && !name.ends_with('/')) page.url.target += '/';
    return page;
}

package_index::read_page package_index::read(const web_url& from, std::string page) const
{
    return kind_ == package_kind::pip ? read_links(from, page) : read_tarballs(std::move(page));
}

// npm asks for the path of a tarball at the registry, wherever the tarball is (replace-registry-host).
package_index::read_page package_index::read_tarballs(std::string page) const
{
    static constexpr std::string_view member = "\"tarball\"";
    read_page read;
    for (std::size_t at = page.find(member); at != std::string::npos; at = page.find(member, at + 1)) {
        const std::size_t begin = page.find_first_not_of(" \t\n\r:", at + member.size());
        if (begin == std::string::npos || page[begin] != '"') continue;
        const std::size_t end = page.find('"', begin + 1);
        if (end == std::string::npos) break;
        try {
            web_url url = web_url::parse(page.substr(begin + 1, end - begin - 1));
            web_url address = root_;
            address.target = url.target.substr(0, url.target.find('?'));
            add_file(read, key_of(address), std::move(url));
        } catch (const bad_url&) {  // npm does not ask for it either
            continue;
        }
    }
    read.text = std::move(page);
    return read;
}

void package_index::remember(std::vector<std::pair<std::string, web_url>> files)
{
    for (auto& [key, url] : files)
        if (named_.size() < most_files) named_.insert_or_assign(std::move(key), std::move(url));
}

}  // namespace cmcp
