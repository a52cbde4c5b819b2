#include "web/cookie_jar.hpp"

#include "text/ascii.hpp"
#include "text/number.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cmcp {
namespace {

constexpr std::size_t most_cookies = 50;
constexpr std::size_t longest_cookie = 4096;
constexpr std::size_t longest_field = 16 * 1024;

// RFC 6265 section 5.1.4
std::string default_path(std::string_view target)
{
    const auto path = target.substr(0, target.find('?'));
    const auto last = path.rfind('/');
    return last == 0 || last == std::string_view::npos ? "/" : std::string(path.substr(0, last));
}

bool path_matches(std::string_view target, std::string_view path)
{
    const auto own = target.substr(0, target.find('?'));
    if (!own.starts_with(path)) return false;
    return own.size() == path.size() || path.ends_with('/') || own[path.size()] == '/';
}

bool domain_matches(std::string_view host, std::string_view domain)
{
    if (host == domain) return true;
    return host.size() > domain.size() && host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.';
}

// Without the list of all of them: a last label, and what looks like "co.uk". A real domain of that form loses no more
// than a cookie for its other hosts.
bool is_public_suffix(std::string_view domain)
{
    const auto labels = split(domain, '.');
    if (labels.size() < 2) return true;
    return labels.size() == 2 && labels[1].size() == 2 && labels[0].size() <= 3;
}

// The tokens of RFC 6265 section 5.1.1 in any order: a time, a day, a month, a year.
std::optional<cookie_jar::clock::time_point> read_date(std::string_view text)
{
    constexpr std::array<std::string_view, 12> months{"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
    std::optional<int> day, month, year, seconds;
    while (!text.empty()) {
        const auto begin = text.find_first_not_of(" \t,-;/");
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const std::string token = lower_case(text.substr(0, text.find_first_of(" \t,-;/")));
        text.remove_prefix(token.size());
        const auto parts = split(token, ':');
        const auto number = read_number<int>(token);
        if (parts.size() == 3 && !seconds) {
            const auto h = read_number<int>(parts[0]), m = read_number<int>(parts[1]), s = read_number<int>(parts[2]);
            if (!h || !m || !s || *h > 23 || *m > 59 || *s > 59) return std::nullopt;
            seconds = *h * 3600 + *m * 60 + *s;
        } else if (number && token.size() <= 2 && !day) {
            day = number;
        } else if (number && !year) {
            year = *number < 70 ? *number + 2000 : *number < 100 ? *number + 1900 : *number;
        } else if (const auto named = std::find(months.begin(), months.end(), token.substr(0, 3));
                   named != months.end() && !month) {
            month = static_cast<int>(named - months.begin()) + 1;
        }
    }
    if (!day || !month || !year || !seconds || *year < 1601 || *year > 9999) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return std::nullopt;
    // The clock counts nanoseconds, which end in the year 2262.
    if (*year > 2200) return cookie_jar::clock::time_point::max();
    if (*year < 1700) return cookie_jar::clock::time_point::min();
    return std::chrono::sys_days(date) + std::chrono::seconds(*seconds);
}

cookie_jar::clock::time_point end_by_age(std::string_view text, cookie_jar::clock::time_point now)
{
    constexpr std::int64_t long_enough = 24 * 3600;  // a fetch does not last so long
    const auto age = read_number<std::int64_t>(text);
    if (text.starts_with('-') || (age && *age <= 0)) return cookie_jar::clock::time_point::min();
    return now + std::chrono::seconds(age ? std::min(*age, long_enough) : long_enough);
}

}  // namespace

void cookie_jar::take(const web_url& from, std::string_view field, clock::time_point now)
{
    if (field.size() > longest_cookie) return;
    const auto parts = split(field, ';');
    const auto equals = parts[0].find('=');
    if (equals == std::string_view::npos) return;
    cookie one;
    one.name = trimmed(parts[0].substr(0, equals));
    one.value = trimmed(parts[0].substr(equals + 1));
    if (one.name.empty()) return;
    one.domain = from.who.name;
    one.path = default_path(from.target);
    bool has_age = false;
    for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
        const auto name = trimmed(part->substr(0, part->find('=')));
        const auto value = name.size() < part->size() && part->find('=') != std::string_view::npos
                               ? trimmed(part->substr(part->find('=') + 1))
                               : std::string_view();
        if (equal_ignoring_case(name, "secure")) one.secure = true;
        if (equal_ignoring_case(name, "path") && value.starts_with('/')) one.path = value;
        if (equal_ignoring_case(name, "max-age") && !value.empty()) {
            one.ends = end_by_age(value, now);
            has_age = true;
        }
        if (equal_ignoring_case(name, "expires") && !has_age)
            if (const auto date = read_date(value)) one.ends = *date;
        if (!equal_ignoring_case(name, "domain") || value.empty()) continue;
        const std::string domain = lower_case(value.substr(value.starts_with('.') ? 1 : 0));
        if (domain == from.who.name) {
            one.host_only = from.who.address.has_value() || is_public_suffix(domain);
            continue;
        }
        if (from.who.address || is_public_suffix(domain) || !domain_matches(from.who.name, domain)) return;
        one.domain = domain;
        one.host_only = false;
    }
    if (one.secure && !from.secure) return;
    if (one.name.starts_with("__Secure-") && !one.secure) return;
    if (one.name.starts_with("__Host-") && (!one.secure || !one.host_only || one.path != "/")) return;
    const auto same = [&one](const cookie& other) {
        return other.name == one.name && other.domain == one.domain && other.path == one.path;
    };
    if (const auto old = std::find_if(cookies_.begin(), cookies_.end(), same); old != cookies_.end())
        *old = std::move(one);
    else if (cookies_.size() < most_cookies)
        cookies_.push_back(std::move(one));
}

std::string cookie_jar::header_for(const web_url& to, clock::time_point now) const
{
    std::vector<const cookie*> sendable;
    for (const auto& one : cookies_) {
        const bool is_its_host =
            one.host_only ? one.domain == to.who.name : !to.who.address && domain_matches(to.who.name, one.domain);
        if (is_its_host && path_matches(to.target, one.path) && (to.secure || !one.secure) && one.ends > now)
            sendable.push_back(&one);
    }
    // The longer path first (section 5.4).
    std::stable_sort(sendable.begin(), sendable.end(),
                     [](const cookie* a, const cookie* b) { return a->path.size() > b->path.size(); });
    std::string header;
    for (const auto* one : sendable) {
        if (header.size() + one->name.size() + one->value.size() > longest_field) break;
        header += (header.empty() ? "" : "; ") + one->name + "=" + one->value;
    }
    return header;
}

}  // namespace cmcp
