#include "audit/record_shares.hpp"

#include "audit/record_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp::audit {

namespace {

// Number, time, kind, two digests, the names of fields and figures.
constexpr std::size_t size_beside_texts = 400, size_of_escape = 6;

constexpr auto others = "(others)";  // no principal is named so

// The fields in which the records of a group are alike.
constexpr std::array<std::string_view, 9> common{"principal", "tool", "method", "host",  "port",
                                                 "decision",  "rule", "cause",  "reason"};

std::string_view text_in(log::fields with, std::string_view name)
{
    for (const auto& [each, value] : with)
        if (each == name) {
            const auto* text = std::get_if<std::string_view>(&value);
            return text != nullptr ? *text : std::string_view();
        }
    return {};
}

// As it will be in the file, or a little more.
double size_of(log::fields with)
{
    std::size_t size = size_beside_texts;
    for (const auto& [name, value] : with) {
        const auto* text = std::get_if<std::string_view>(&value);
        if (text == nullptr) continue;
        const auto text_start = text->substr(0, longest_text);
        const auto is_escaped = [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; };
        size += text_start.size() +
                (size_of_escape - 1) * static_cast<std::size_t>(std::ranges::count_if(text_start, is_escaped));
    }
    return static_cast<double>(size);
}

// Acts of administration are few and matter most; refused ones anybody can cause.
bool is_always_whole(kind is, bool is_refused) { return is >= kind::start || (is == kind::admin && !is_refused); }

bool is_bounded_by_likeness(kind is, bool is_refused)
{
    return is == kind::egress || is == kind::login_refused || is_refused;
}

}  // namespace

record_shares::share& record_shares::share_of(std::string_view principal, clock::time_point now)
{
    auto at = shares_.find(std::string(principal));
    if (at == shares_.end()) {
        const bool is_full = shares_.size() >= limits_.principals;
        at = shares_.try_emplace(is_full ? std::string(others) : std::string(principal)).first;
        if (at->second.looked == clock::time_point()) at->second = {limits_.burst, now, now, false, {}};
    }
    auto& of = at->second;
    const std::chrono::duration<double> passed = now - of.looked;
    of.left = std::min(limits_.burst, of.left + passed / limits_.minute * limits_.a_minute);
    of.looked = now;
    if (!of.counts && now - of.began >= limits_.minute) {
        of.groups.clear();
        of.began = now;
    }
    return of;
}

record_shares::group& record_shares::group_of(share& of, kind is, log::fields with, std::string_view principal) const
{
    auto& groups = of.groups[is];
    std::string fields;
    for (const auto& each : with)
        if (std::find(common.begin(), common.end(), each.first) != common.end()) append_fields(fields, {each});
    if (const auto known = groups.find(fields); known != groups.end()) return known->second;
    if (groups.size() < limits_.groups) return groups[std::move(fields)];
    fields.clear();
    if (!principal.empty()) append_fields(fields, {{"principal", principal}});
    return groups.try_emplace(std::move(fields), group{limits_.alike, 0}).first->second;
}

bool record_shares::takes(kind is, log::fields with, clock::time_point now)
{
    const auto cause = text_in(with, "cause");
    const bool is_refused = cause == "refused";
    if (is_always_whole(is, is_refused)) return true;
    const auto principal = text_in(with, "principal");
    auto& of = share_of(principal, now);
    const double size = size_of(with);
    const bool by_likeness = is_bounded_by_likeness(is, is_refused);
    const bool has_room = of.left >= size;
    if (has_room && !by_likeness) {
        of.left -= size;
        return true;
    }
    auto& alike = group_of(of, is, with, principal);
    if (has_room && alike.whole < limits_.alike) {
        ++alike.whole;
        of.left -= size;
        return true;
    }
    if (alike.further++ == 0) append_time(alike.since, std::chrono::system_clock::now());
    of.counts = true;
    next_ = std::min(next_, of.began + limits_.minute);
    return false;
}

void record_shares::close(share& of, std::vector<sum>& into) const
{
    for (const auto& [is, groups] : of.groups)
        for (const auto& [fields, each] : groups) {
            if (each.further == 0) continue;
            sum counted{is, fields};
            append_fields(counted.fields, {{"further", each.further}, {"since", each.since}});
            into.push_back(std::move(counted));
        }
    of.groups.clear();
    of.counts = false;
}

std::vector<record_shares::sum> record_shares::ended(clock::time_point now)
{
    std::vector<sum> sums;
    if (now < next_) return sums;
    next_ = clock::time_point::max();
    for (auto at = shares_.begin(); at != shares_.end();) {
        auto& of = at->second;
        const bool is_over = now - of.began >= limits_.minute;
        if (of.counts && is_over) {
            close(of, sums);
            of.began = now;
        }
        if (of.counts) next_ = std::min(next_, of.began + limits_.minute);
        // A whole allowance is what a new share begins with.
        const std::chrono::duration<double> passed = now - of.looked;
        const bool is_idle =
            is_over && !of.counts && of.left + passed / limits_.minute * limits_.a_minute >= limits_.burst;
        at = is_idle ? shares_.erase(at) : std::next(at);
    }
    return sums;
}

std::vector<record_shares::sum> record_shares::all()
{
    std::vector<sum> sums;
    for (auto& [principal, of] : shares_) close(of, sums);
    next_ = clock::time_point::max();
    return sums;
}

}  // namespace cmcp::audit
