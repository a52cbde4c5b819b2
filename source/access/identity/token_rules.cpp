#include "identity/token_rules.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/words.hpp"

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
    if (member == nullptr) return contains(audiences, "client_id:" + text_of(claims, "client_id"));
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

// Only what an address may hold: the sentence goes into a header, and people read it.
std::string shown_name(std::string_view name)
{
    constexpr std::size_t longest = 200;
    std::string shown;
    for (const char c : name.substr(0, longest))
        if (c > ' ' && c < 0x7f && c != '"' && c != '\\') shown += c;
    return shown;
}

std::string problem_of_audience(const json::object& claims)
{
    if (const auto* named = claims.if_contains("aud"))
        return "The token is meant for another server (aud): " + shown_name(jsonrpc::write_json(*named)) +
               " is neither an address of this server nor one of AUTH_AUDIENCES.";
    return "The token has no aud: let its issuer put this server's address there, or name its client in AUTH_AUDIENCES "
           "as client_id:NAME.";
}

// RFC 7800 section 3.1: a token that is bound to something is of no use without it, so one whose binding cannot be
// checked is not taken like one without any.
std::string problem_of_binding(const json::object& claims)
{
    const auto* bound = claims.if_contains("cnf");
    if (bound == nullptr) return {};
    const auto is_known = [](const auto& member) {
        return (member.key() == "jkt" || member.key() == "x5t#S256") && member.value().is_string() &&
               !member.value().get_string().empty();
    };
    const bool is_good =
        bound->is_object() && !bound->get_object().empty() && std::ranges::all_of(bound->get_object(), is_known);
    return is_good ? "" : "The token is bound (cnf) in a way that is not known here; known are jkt and x5t#S256.";
}

// Scopes of an unknown form would otherwise count as none, which AUTH_DEFAULT_SCOPES replaces.
std::string problem_of_scopes(const json::object& claims)
{
    const auto is_text = [](const json::value& each) { return each.is_string(); };
    for (const auto* name : {"scope", "scp"}) {
        const auto* member = claims.if_contains(name);
        if (member == nullptr || member->is_null() || member->is_string()) continue;
        if (!member->is_array() || !std::ranges::all_of(member->get_array(), is_text))
            return std::string("The token's ") + name + " is neither a text nor a list of texts.";
    }
    return {};
}

std::string problem_of(const json::object& claims, const token_rules& rules, time_point now)
{
    if (const auto from = view_of(claims, "iss"); !contains(rules.issuers, from))
        return other_issuer(from, rules.issuers);
    if (!is_meant_for(claims, rules.audiences)) return problem_of_audience(claims);
    const auto subject = view_of(claims, rules.subject_claim);
    if (subject.empty() || subject.size() > longest_subject)
        return "The token names no subject (" + rules.subject_claim + ").";
    auto problem = problem_of_times(claims, rules.skew, now);
    if (problem.empty()) problem = problem_of_binding(claims);
    return problem.empty() ? problem_of_scopes(claims) : problem;
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

std::string_view without_end_slash(std::string_view text)
{
    if (text.ends_with('/')) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string token_type(std::string_view text)
{
    constexpr std::string_view family = "application/";
    std::string type = lower_case(text);
    if (type.starts_with(family)) type.erase(0, family.size());
    return type;
}

std::string other_issuer(std::string_view issuer, const std::vector<std::string>& trusted)
{
    if (issuer.empty()) return "The token names no issuer (iss).";
    std::string sentence =
        "The token's issuer " + shown_name(issuer) + " is not trusted here; AUTH_ISSUERS is " + joined(trusted, ",");
    for (const auto& each : trusted)
        if (without_end_slash(each) == without_end_slash(issuer))
            return sentence +
                   ". They differ in the slash at the end: set AUTH_ISSUERS to exactly what tokens have as iss.";
    return sentence + ".";
}

std::string principal_of(std::string_view issuer, std::string_view subject)
{
    std::string both(issuer);
    both.append(1, '\0').append(subject);
    return "oauth-" + sha256_hex(both).substr(0, digits_of_principal);
}

token_decision judge_claims(const json::object& claims, const token_rules& rules, time_point now)
{
    auto problem = problem_of(claims, rules, now);
    if (!problem.empty()) return {nullptr, std::move(problem)};
    return {login_from(claims, rules), {}};
}

token_decision judge_token(const jose::jwt& token, const token_rules& rules, time_point now)
{
    const auto type = token_type(view_of(token.header, "typ"));
    if (!contains(rules.types, type))
        return {nullptr, "The token is no access token: its typ (" + (type.empty() ? "none" : shown_name(type)) +
                             ") is not among AUTH_TOKEN_TYPES (" + joined(rules.types, ",") + ")."};
    return judge_claims(token.claims, rules, now);
}

}  // namespace cmcp
