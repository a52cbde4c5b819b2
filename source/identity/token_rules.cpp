#include "identity/token_rules.hpp"

#include "jsonrpc/read_object.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cmcp {

namespace {

using time_point = login::clock::time_point;
using std::chrono::seconds;

constexpr std::size_t longest_subject = 512;
constexpr std::size_t digits_of_principal = 24;

std::optional<time_point> time_in(const json::object& claims, std::string_view name)
{
    constexpr double latest = 1e11;
    const auto* member = claims.if_contains(name);
    if (member == nullptr || !member->is_number()) return std::nullopt;
    const double value = member->to_number<double>();
    if (!std::isfinite(value) || value < 0 || value > latest) return std::nullopt;
    return time_point(seconds(static_cast<std::int64_t>(value)));
}

bool contains(const std::vector<std::string>& all, std::string_view one)
{
    return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_meant_for(const json::object& claims, const std::vector<std::string>& audiences)
{
    const auto* member = claims.if_contains("aud");
    if (member == nullptr) return false;
    const auto fits = [&](const json::value& each) {
        return each.is_string() && contains(audiences, std::string_view(each.get_string()));
    };
    return member->is_array() ? std::ranges::any_of(member->get_array(), fits) : fits(*member);
}

std::string problem_of_times(const json::object& claims, seconds skew, time_point now)
{
    const auto expires = time_in(claims, "exp");
    if (!expires) return "The token has no expiry (exp).";
    if (*expires + skew <= now) return "The token has expired.";
    for (const auto* name : {"nbf", "iat"}) {
        const auto begins = time_in(claims, name);
        if (claims.contains(name) && !begins) return std::string("The token's ") + name + " is no time.";
        if (begins && *begins > now + skew) return "The token is not valid yet.";
    }
    return {};
}

std::string problem_of(const json::object& claims, const token_rules& rules, time_point now)
{
    if (!contains(rules.issuers, view_of(claims, "iss"))) return "The token's issuer is not trusted here.";
    if (!is_meant_for(claims, rules.audiences)) return "The token is meant for another server (aud).";
    const auto subject = view_of(claims, rules.subject_claim);
    if (subject.empty() || subject.size() > longest_subject)
        return "The token names no subject (" + rules.subject_claim + ").";
    return problem_of_times(claims, rules.skew, now);
}

// OAuth has one text with blanks (RFC 8693 section 4.2); some issuers have a list, or another name.
scope_set scopes_in(const json::object& claims)
{
    scope_set all;
    for (const auto* name : {"scope", "scp"}) {
        const auto* member = claims.if_contains(name);
        if (member == nullptr) continue;
        if (member->is_string()) all = all | scope_set::parse(member->get_string());
        if (!member->is_array()) continue;
        for (const auto& each : member->get_array())
            if (each.is_string()) all = all | scope_set::parse(each.get_string());
    }
    return all;
}

login_ptr login_from(const json::object& claims, const token_rules& rules)
{
    const auto issuer = view_of(claims, "iss"), subject = view_of(claims, rules.subject_claim);
    auto who = std::make_shared<login>();
    if (rules.linked) who->principal = rules.linked(issuer, subject);
    if (who->principal.empty()) who->principal = principal_of(issuer, subject);
    who->credential = "issuer " + std::string(issuer);
    who->scopes = scopes_in(claims);
    if (who->scopes.empty()) who->scopes = rules.default_scopes;
    if (contains(rules.admins, who->principal)) who->scopes = scope_set::all();
    who->ends = *time_in(claims, "exp") + rules.skew;
    who->from = login::source::issuer;
    const auto& bound = object_of(claims, "cnf");
    who->proof_key = view_of(bound, "jkt");
    who->certificate = view_of(bound, "x5t#S256");
    return who;
}

}  // namespace

std::string principal_of(std::string_view issuer, std::string_view subject)
{
    std::string both(issuer);
    both.append(1, '\0').append(subject);
    return "oauth-" + sha256_hex(both).substr(0, digits_of_principal);
}

token_verdict judge_claims(const json::object& claims, const token_rules& rules, time_point now)
{
    auto problem = problem_of(claims, rules, now);
    if (!problem.empty()) return {nullptr, std::move(problem)};
    return {login_from(claims, rules), {}};
}

token_verdict judge_token(const jose::jwt& token, const token_rules& rules, time_point now)
{
    auto type = lower_case(view_of(token.header, "typ"));
    if (type.starts_with("application/")) type.erase(0, std::string_view("application/").size());
    if (!contains(rules.types, type))
        return {nullptr, "The token is no access token: its typ is not among AUTH_TOKEN_TYPES."};
    return judge_claims(token.claims, rules, now);
}

}  // namespace cmcp
