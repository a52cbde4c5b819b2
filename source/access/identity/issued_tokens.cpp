#include "identity/issued_tokens.hpp"

#include "config/settings.hpp"
#include "identity/form_encoding.hpp"
#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr std::string_view invalid_proof = "invalid_dpop_proof";
constexpr auto unknown_for = std::chrono::seconds(10);  // a token that an introspection did not know
constexpr auto longest_answer = std::chrono::hours(1);  // that a client may read behind the end of its token
constexpr std::size_t most_introspections = 64;

token_rules rules_from(const settings& config)
{
    token_rules rules;
    rules.issuers = config.auth_issuers;
    rules.audiences = config.auth_audiences;
    for (const auto& each : config.auth_token_types) rules.types.push_back(token_type(each));
    rules.subject_claim = config.auth_principal_claim;
    rules.admins = config.auth_admins;
    rules.default_scopes = scope_set::parse(config.auth_default_scopes);
    rules.skew = std::chrono::duration_cast<std::chrono::seconds>(config.auth_clock_skew);
    return rules;
}

// The endpoint tells what an opaque token means (RFC 7662); this server is a client there. Throws std::runtime_error
// with a sentence when it does not answer.
awaitable<token_decision> introspection_of(std::string token, const settings& config, const document_fetch& fetch,
                                           const token_rules& rules)
{
    document_request wanted{config.auth_introspection_url};
    wanted.form = "token=" + form_encoded(token) + "&token_type_hint=access_token";
    if (!config.auth_introspection_client.empty())
        wanted.headers.emplace_back(
            "Authorization", basic_authorization(config.auth_introspection_client, config.auth_introspection_secret));
    const std::string text = co_await fetch(std::move(wanted));
    json::object claims = read_issuer_document(text);
    token_decision decision{nullptr, "The token is not known to its issuer, or has ended."};
    if (!flag_of(claims, "active")) co_return decision;
    // Most endpoints tell the tokens of one issuer alone and leave its name out.
    if (!claims.contains("iss") && rules.issuers.size() == 1) claims["iss"] = rules.issuers.front();
    // A program with a token of its own is its own subject (RFC 9068 section 2.2).
    if (!claims.contains("sub") && claims.contains("client_id")) claims["sub"] = text_of(claims, "client_id");
    decision = judge_claims(claims, rules, login::clock::now());
    if (decision.who) {
        auto own = std::make_shared<login>(*decision.who);
        own->handle = std::move(token);
        decision.who = std::move(own);
    }
    co_return decision;
}

}  // namespace

issued_tokens::issued_tokens(asio::any_io_executor executor, const settings& config, document_fetch fetch,
                             principal_of_subject linked)
    : config_(config), fetch_(std::move(fetch)), rules_(rules_from(config)), proofs_(rules_.skew), tasks_(executor)
{
    for (const auto& name : config.auth_issuers) issuers_.emplace_back(name, fetch_, issuer::times());
    rules_.linked = std::move(linked);
}

void issued_tokens::serve_at(std::string address) { rules_.audiences.push_back(std::move(address)); }

bool issued_tokens::are_known() const { return !issuers_.empty() || !config_.auth_introspection_url.empty(); }

void issued_tokens::share(shared_logins with)
{
    shared_ = std::move(with);
    proofs_.share();
    for (auto& each : issuers_) each.share(shared_.issuer_keys);
}

bool issued_tokens::may_have(std::string_view token)
{
    const auto read = jose::read_jwt(token);
    if (read && issuer_of(view_of(read->claims, "iss")) != nullptr) return true;
    // Only the authorization server can tell whose token of no form is.
    return !config_.auth_introspection_url.empty() || cache_.find(sha256_hex(token), login::clock::now()) != nullptr;
}

issuer* issued_tokens::issuer_of(std::string_view name)
{
    const auto is_it = [name](const issuer& each) { return each.name() == name; };
    const auto at = std::find_if(issuers_.begin(), issuers_.end(), is_it);
    return at == issuers_.end() ? nullptr : &*at;
}

admission issued_tokens::judge(const credentials& of)
{
    const auto now = login::clock::now();
    digest_memo own;
    const auto& digest = (of.digests != nullptr ? *of.digests : own).of(of.token);
    if (const auto* known = cache_.find(digest, now)) return admit(*known, of, now);
    if (const auto token = jose::read_jwt(of.token); token && !issuers_.empty()) {
        auto judged = judge_signed(*token, digest, now);
        if (!judged.who) return judged;
        return admit({std::move(judged.who), {}}, of, now);
    }
    if (config_.auth_introspection_url.empty())
        return admission::refused("unknown_token",
                                  "The token is not known here, and is no JWT of an issuer of AUTH_ISSUERS.");
    if (introspections_ >= most_introspections)
        return admission::not_known_yet("Too many tokens wait for the authorization server; try again later.");
    return {nullptr, "The token is not known here.", admission::invalid_token, true};
}

admission issued_tokens::judge_signed(const jose::jwt& token, const std::string& digest, time_point now)
{
    auto* from = issuer_of(view_of(token.claims, "iss"));
    if (from == nullptr)
        return admission::refused("issuer", other_issuer(view_of(token.claims, "iss"), rules_.issuers));
    if (!jose::is_known_algorithm(token.algorithm()))
        return admission::refused("signature", "The token's signature has no algorithm that is taken here.");
    const auto turn = event::clock::now();
    if (!from->verifies(token, turn)) {
        if (from->may_fetch(token, turn)) return {nullptr, {}, admission::invalid_token, true};
        if (!from->trouble().empty())
            return admission::not_known_yet("The keys of " + from->name() + " cannot be fetched (" + from->trouble() +
                                            "); try again later.");
        return admission::refused("signature", "The token's signature is wrong, or its key is not one of its issuer.");
    }
    if (from->is_stale(turn) && !from->is_fetching()) tasks_.spawn("keys of an issuer", from->fetch());
    auto decision = judge_token(token, rules_, now);
    if (!decision.who) return admission::refused("token", std::move(decision.problem));
    const auto until = std::min(decision.who->ends, now + std::chrono::hours(1));
    cache_.put(digest, decision, until);
    return {std::move(decision.who)};
}

admission issued_tokens::admit(const token_decision& decision, const credentials& of, time_point now)
{
    if (decision.unavailable) return admission::not_known_yet(decision.problem);
    if (!decision.who) return admission::refused("token", decision.problem);
    auto judged = judge_binding(*decision.who, of, now);
    const auto error = of.scheme == "dpop" ? invalid_proof : admission::invalid_token;
    if (!judged.to_claim.empty()) return {nullptr, {}, error, true, false, {}, std::move(judged.to_claim)};
    if (judged.unavailable) return admission::not_known_yet(std::move(judged.problem));
    if (!judged.problem.empty()) return admission::refused("binding", std::move(judged.problem), error);
    return {decision.who};
}

// A stolen token is of no use without the key, or the certificate, that it names.
proof_decision issued_tokens::judge_binding(const login& who, const credentials& of, time_point now)
{
    if (!who.certificate.empty() && who.certificate != of.certificate)
        return {"The token may be used only with the client certificate that it names."};
    const bool proves = of.scheme == "dpop";
    if (who.proof_key.empty()) {
        if (proves) return {"The token names no key, so a DPoP proof cannot belong to it; send it as Bearer."};
        if (config_.auth_dpop == "require")
            return {"Only tokens that are bound to a key are taken here (AUTH_DPOP=require)."};
        return {};
    }
    if (config_.auth_dpop == "off")
        return {"The token is bound to a key, which this server does not check (AUTH_DPOP=off)."};
    if (!proves) return {"The token is bound to a key; send it as 'Authorization: DPoP <token>' with a field DPoP."};
    auto proven = of.proof;
    proven.token = of.token;
    return proofs_.judge(proven, who.proof_key, now);
}

awaitable<> issued_tokens::ask(credentials of)
{
    if (cache_.find(sha256_hex(of.token), login::clock::now()) == nullptr)
        co_await ask_for_token(std::string(of.token));
    if (of.scheme == "dpop" && shared_.first_use) co_await ask_for_proof(std::move(of));
}

// Judges again, because the keys of the token may have come just now.
awaitable<> issued_tokens::ask_for_proof(credentials of)
{
    auto judged = judge(of);
    if (judged.to_claim.empty()) co_return;
    const auto first = co_await shared_.first_use(judged.to_claim, proofs::remembered_for);
    proofs_.claimed(std::move(judged.to_claim), first);
}

awaitable<> issued_tokens::ask_for_token(std::string token)
{
    auto read = jose::read_jwt(token);
    auto* from = read ? issuer_of(view_of(read->claims, "iss")) : nullptr;
    if (from == nullptr) {
        co_await introspect(std::move(token));
        co_return;
    }
    if (!from->is_fetching()) tasks_.spawn("keys of an issuer", from->fetch(std::move(read)));
    co_await from->fetched();
}

awaitable<> issued_tokens::introspect(std::string token)
{
    struct counted {
        explicit counted(std::size_t& one) : of(one) { ++of; }
        ~counted() { --of; }
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        std::size_t& of;
    };
    const counted one(introspections_);
    auto digest = sha256_hex(token);
    token_decision decision;
    try {
        decision = co_await introspection_of(std::move(token), config_, fetch_, rules_);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& problem) {
        log::warning("introspection_failed", {{"reason", json::string(problem.what())}});
        decision.problem =
            std::string("The authorization server does not answer (") + problem.what() + "); try again later.";
        decision.unavailable = true;
    }
    const auto now = login::clock::now();
    const auto until =
        decision.who ? std::min(decision.who->ends, now + config_.auth_introspection_ttl) : now + unknown_for;
    cache_.put(std::move(digest), std::move(decision), until);
}

awaitable<bool> issued_tokens::still_counts(login_ptr who)
{
    const auto now = login::clock::now();
    if (who->ends <= now || who->handle.empty()) co_return now - who->ends < longest_answer;
    const auto digest = sha256_hex(who->handle);
    if (cache_.find(digest, now) == nullptr) co_await introspect(who->handle);
    const auto* decision = cache_.find(digest, now);
    co_return decision != nullptr && (decision->who || decision->unavailable);
}

const token_decision* login_cache::find(const std::string& digest, login::clock::time_point now)
{
    const auto at = by_digest_.find(digest);
    if (at == by_digest_.end() || at->second->until <= now) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->decision;
}

void login_cache::put(std::string digest, token_decision decision, login::clock::time_point until)
{
    if (const auto old = by_digest_.find(digest); old != by_digest_.end()) {
        const auto gone = old->second;
        by_digest_.erase(old);
        entries_.erase(gone);
    }
    entries_.push_front({std::move(digest), std::move(decision), until});
    by_digest_.emplace(entries_.front().digest, entries_.begin());
    if (entries_.size() <= most_) return;
    by_digest_.erase(entries_.back().digest);
    entries_.pop_back();
}

}  // namespace cmcp
