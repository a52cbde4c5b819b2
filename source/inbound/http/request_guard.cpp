#include "http/request_guard.hpp"

#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "http/endpoint_address.hpp"
#include "http/route.hpp"
#include "http/signed_link.hpp"
#include "metrics/registry.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/signature.hpp"
#include "text/words.hpp"
#include "tls/client_certificate.hpp"

#include <algorithm>
#include <chrono>

namespace cmcp {

namespace {

void count_refused_login(std::string_view reason)
{
    static auto& refusals = metrics::all().counters("cmcp_logins_refused_total",
                                                    "Requests without usable credentials, by reason.", {"reason"});
    refusals.at({reason}).add();
}

bool is_open(const http_request& request)
{
    return is_probe(request) || (request.target != nullptr && request.target->access == route_access::open);
}

// The client has proved by its certificate who it is; a token that comes along counts instead.
bool brings_named_certificate(const http_request& request)
{
    return request.certificate && !request.certificate->name.empty() && request.count("authorization") == 0;
}

// A page cannot set fields of the request for a WebSocket, but name protocols.
std::string_view forgery_proof(const http_request& request)
{
    if (const auto field = request.header("x-csrf-token")) return *field;
    constexpr std::string_view mark = "cmcp.csrf.";
    for (const auto part : split(request.header("sec-websocket-protocol").value_or(""), ','))
        if (const auto protocol = trimmed(part); protocol.starts_with(mark)) return protocol.substr(mark.size());
    return {};
}

// E2B's clients insist on e2b_ and hexadecimal digits, which may be those of a key's characters.
std::string key_of_e2b(std::string_view sent)
{
    constexpr std::string_view prefix = "e2b_";
    if (!sent.starts_with(prefix)) return std::string(sent);
    return hex_bytes(sent.substr(prefix.size())).value_or(std::string(sent));
}

// A token that comes along counts, so that programs may go on with a link whose time is over.
bool takes_signature(const http_request& request)
{
    const bool reads = request.method == "GET" || request.method == "HEAD";
    return reads && request.target != nullptr && request.target->signed_links && bears_signature(request) &&
           request.count("authorization") == 0;
}

}  // namespace

// A page of this server's own; a header that comes along counts in its place.
const browser_logins::entry* request_guard::browser_of(const http_request& request) const
{
    const bool may = browsers_ != nullptr && request.target != nullptr && request.target->by_browser;
    return may && request.count("authorization") == 0 ? browsers_->find(request) : nullptr;
}

// Clients of Jupyter send "Authorization: token …" as well, and in the query where they cannot choose the header.
request_guard::authorization request_guard::authorization_of(const http_request& request) const
{
    if (const auto* browser = browser_of(request)) return {"bearer", {}, browser->token};
    const bool jupyter = request.target != nullptr && request.target->jupyter;
    if (request.count("authorization") == 0 && jupyter)
        if (auto token = request.parameter("token")) return {"bearer", {}, std::move(*token)};
    const bool e2b = request.target != nullptr && request.target->e2b;
    if (request.count("authorization") == 0 && e2b && request.count("x-api-key") == 1)
        return {"bearer", {}, key_of_e2b(*request.header("x-api-key"))};
    if (request.count("authorization") != 1) return {};
    const auto field = *request.header("authorization");
    const auto blank = std::min(field.find(' '), field.size());
    auto scheme = lower_case(field.substr(0, blank));
    if (jupyter && scheme == "token") scheme = "bearer";
    if (scheme != "bearer" && scheme != "dpop") return {};
    return {std::move(scheme), trimmed(field.substr(blank))};
}

credentials request_guard::credentials_of(const http_request& request, const authorization& brought) const
{
    credentials of;
    of.scheme = brought.scheme;
    of.token = brought.token();
    of.digests = request.digests;
    of.peer = request.address;
    if (request.certificate) of.certificate = request.certificate->thumbprint;
    if (brought.scheme != "dpop" || request.count("dpop") != 1) return of;
    of.proof.proof = *request.header("dpop");
    of.proof.method = request.method;
    of.proof.addresses = {address_used(request, logins_.config()) + request.path};
    return of;
}

// A browser sends the cookie whoever made the request; only the server's own page knows the other text.
std::optional<http_reply> request_guard::refuse_forgery(const http_request& request) const
{
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (reads && request.count("upgrade") == 0) return std::nullopt;
    const auto* browser = browser_of(request);
    if (browser == nullptr || same_secret(forgery_proof(request), browser->csrf)) return std::nullopt;
    count_refused_login("forgery");
    return error_reply(403,
                       "A request with the cookie of /ui needs the header X-CSRF-Token, as GET /ui/session says it.");
}

awaitable<admission> request_guard::judge(const http_request& request, std::string token) const
{
    const authorization brought{"bearer", {}, std::move(token)};
    auto judged = logins_.judge(credentials_of(request, brought));
    if (!judged.later) co_return judged;
    auto sent = credentials_of(request, brought);
    co_await logins_.ask(std::move(sent));
    co_return logins_.judge(credentials_of(request, brought));
}

std::optional<http_reply> request_guard::admit(http_request& request) const
{
    if (auto refused = refuse_framing(request)) return refused;
    if (auto refused = names_.refuse_source(request)) return refused;
    if (request.target != nullptr && request.target->relays) return std::nullopt;
    if (request.method == "OPTIONS") return preflight(request);
    if (auto refused = refuse_caller(request)) return refused;
    return refuse_media(request);
}

std::optional<http_reply> request_guard::refuse_caller(http_request& request) const
{
    request.login_pending = false;
    if (is_open(request)) return std::nullopt;
    if (by_way_.login) return admit_by_way(request);
    const bool certified = brings_named_certificate(request);
    const bool by_link = logins_.config().callers_have_names() && takes_signature(request);
    if (by_link) {
        auto refused = admit_by_link(request);
        if (!refused || !certified) return refused;
    }
    if (certified) return let_in(request, logins_.by_certificate(request.certificate->name));
    if (auto forged = refuse_forgery(request)) return forged;
    const auto brought = authorization_of(request);
    auto judged = logins_.judge(credentials_of(request, brought));
    request.login_pending = judged.later;
    const bool is_stranger = !judged.who && brought.scheme.empty() && request.count("authorization") == 0;
    if (is_stranger && request.target != nullptr && request.target->by_strangers) {
        request.login_pending = false;
        return std::nullopt;
    }
    if (!judged.who) return refuse(request, judged);
    return let_in(request, std::move(judged.who));
}

std::optional<http_reply> request_guard::admit_by_way(http_request& request) const
{
    auto who = by_way_.login(request);
    if (who) return let_in(request, std::move(who));
    count_refused_login(by_way_.name);
    return error_reply(403, by_way_.refusal);
}

awaitable<> request_guard::ask_about_caller(http_request& request) const
{
    const auto brought = authorization_of(request);
    auto sent = credentials_of(request, brought);
    co_await logins_.ask(std::move(sent));
}

awaitable<std::optional<http_reply>> request_guard::admit_when_known(http_request& request) const
{
    co_await ask_about_caller(request);
    co_return admit(request);
}

// A proof of DPoP is good once, so it is not judged again. A member of the cluster ends what it has passed on.
awaitable<bool> request_guard::still_admits(http_request& request) const
{
    if (request.member) co_return true;
    if (authorization_of(request).scheme == "dpop") co_return true;
    auto refused = refuse_caller(request);
    if (request.login_pending) {
        co_await ask_about_caller(request);
        refused = refuse_caller(request);
    }
    co_return !refused || refused->status == 503;
}

std::optional<http_reply> request_guard::let_in(http_request& request, login_ptr who) const
{
    request.principal = who->principal;
    request.who = std::move(who);
    const auto needed = request.target == nullptr ? scope_set() : request.target->needs;
    return refuse_scopes(request, logins_.config(), needed);
}

http_reply request_guard::refuse(const http_request& request, const admission& refused) const
{
    // Browsers ask for /favicon.ico and clients for metadata: where nothing is, no credentials are missing.
    const bool only_looks = request.target == nullptr && request.count("authorization") == 0;
    if (!refused.later && !only_looks) count_refused_login(refused.reason);
    return refusal_of_login(request, logins_, refused);
}

std::optional<http_reply> request_guard::admit_by_link(http_request& request) const
{
    const auto& config = logins_.config();
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const auto owner = owner_of_link(request);
    const auto is_signed = [&](std::string_view name) { return is_signed_for(request, name, config.link_key, now); };
    if (owner && is_signed(*owner)) return let_in(request, logins_.by_link(*owner));
    for (const auto& [name, secret] : config.auth_tokens)
        if (is_signed(name)) return let_in(request, logins_.by_link(name));
    count_refused_login("link");
    return error_reply(403,
                       "This link has ended, or is not as the server made it; a tool that names the file, such as "
                       "download_file_from_sandbox, gives a new one.");
}

bool request_guard::brings_own(const http_request& request) const
{
    for (const auto& [name, value] : request.fields)
        if (name == "authorization" && holds_own(value)) return true;
    return false;
}

// In whatever scheme it stands: a program that gets it could use it in the right one.
bool request_guard::holds_own(std::string_view field) const
{
    const auto blank = std::min(field.find(' '), field.size());
    const auto credentials = trimmed(blank < field.size() ? field.substr(blank) : field);
    if (lower_case(field.substr(0, blank)) != "basic") return logins_.owns(credentials);
    const auto pair = decode_content(credentials);
    const std::string_view whole = pair.bytes;
    const auto colon = std::min(whole.find(':'), whole.size());
    return logins_.owns(whole.substr(0, colon)) || logins_.owns(whole.substr(std::min(colon + 1, whole.size())));
}

std::string_view problem_of_login(const http_request& request, std::string_view sentence)
{
    if (request.count("authorization") == 0)
        return request.header("cookie").value_or("").find("cmcp-login-") == std::string_view::npos
                   ? "no token"
                   : "no login any more";
    const auto scheme =
        lower_case(request.header("authorization")->substr(0, request.header("authorization")->find(' ')));
    return scheme == "bearer" || scheme == "dpop" ? sentence : "no bearer token";
}

}  // namespace cmcp
