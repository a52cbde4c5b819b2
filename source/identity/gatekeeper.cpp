#include "identity/gatekeeper.hpp"

#include "identity/identity_store.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"
#include "text/signature.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::string_view invalid = "invalid_token", invalid_proof = "invalid_dpop_proof";
constexpr auto key_is_fresh = std::chrono::seconds(1);
constexpr auto unknown_for = std::chrono::seconds(10);  // a token that an introspection did not know
constexpr std::size_t most_introspections = 64, most_keys_known = 10'000, longest_token = 16 * 1024;
constexpr double use_is_noted_after = 60;

double seconds_of(login::clock::time_point when)
{
    return std::chrono::duration<double>(when.time_since_epoch()).count();
}

login::clock::time_point time_of(double seconds)
{
    return login::clock::time_point(
        std::chrono::duration_cast<login::clock::duration>(std::chrono::duration<double>(seconds)));
}

bool is_admin(const settings& config, const std::string& principal)
{
    return std::find(config.auth_admins.begin(), config.auth_admins.end(), principal) != config.auth_admins.end();
}

// The owner of a server that nobody gave a token administers it; a name of AUTH_ADMINS does, too.
login_ptr token_login(const settings& config, const std::string& name)
{
    auto who = std::make_shared<login>();
    who->principal = name;
    who->credential = name.empty() ? "token" : "token " + name;
    if (name.empty() || is_admin(config, name)) who->scopes = scope_set::all();
    return who;
}

token_rules rules_from(const settings& config)
{
    token_rules rules;
    rules.issuers = config.auth_issuers;
    rules.audiences = config.auth_audiences;
    rules.types = config.auth_token_types;
    rules.subject_claim = config.auth_principal_claim;
    rules.admins = config.auth_admins;
    rules.default_scopes = scope_set::parse(config.auth_default_scopes);
    rules.skew = std::chrono::duration_cast<std::chrono::seconds>(config.auth_clock_skew);
    return rules;
}

login_ptr key_login(const settings& config, const key_record& key)
{
    auto who = std::make_shared<login>();
    who->principal = key.principal;
    who->credential = "key " + key.id;
    who->scopes = scope_set::parse(key.scopes);
    if (is_admin(config, key.principal)) who->scopes = scope_set::all();
    who->profile = key.profile;
    if (key.expires != 0) who->ends = time_of(key.expires);
    return who;
}

admission refused(std::string problem, std::string_view error = invalid)
{
    return {nullptr, std::move(problem), error};
}

}  // namespace

gatekeeper::gatekeeper(asio::any_io_executor executor, const settings& config, document_fetch fetch)
    : config_(config),
      fetch_(std::move(fetch)),
      rules_(rules_from(config)),
      introspection_{config.auth_introspection_url, config.auth_introspection_client, config.auth_introspection_secret},
      proofs_(rules_.skew),
      tasks_(executor)
{
    tokens_changed();
    for (const auto& name : config.auth_issuers) issuers_.emplace_back(name, fetch_, issuer::times());
    if (!config.callers_have_names()) everybody_ = token_login(config, {});
    rules_.linked = [this](std::string_view from, std::string_view subject) {
        return store() != nullptr ? store()->principal_of(from, subject) : std::string();
    };
    if (!config.public_url.empty()) serve_at({config.public_url});
}

gatekeeper::~gatekeeper() = default;

void gatekeeper::tokens_changed()
{
    tokens_.clear();
    for (const auto& [name, secret] : config_.auth_tokens) tokens_.emplace_back(secret, token_login(config_, name));
}

// The server has several endpoints, and clients ask for a token of the one that they know (RFC 8707).
void gatekeeper::serve_at(const std::vector<std::string>& addresses)
{
    for (auto address : addresses) {
        while (address.ends_with('/')) address.pop_back();
        for (const auto* path : {"", "/", "/mcp", "/sse"}) rules_.audiences.push_back(address + path);
    }
}

admission gatekeeper::judge(const credentials& of)
{
    if (of.scheme.empty()) {
        if (everybody_) return {everybody_};
        return {nullptr,
                "Send 'Authorization: Bearer <token>' with a token of MCP_AUTH_TOKENS, that of the file "
                "auth-token in SANDBOX_ROOT, an API key (container-mcp key create), or one of an "
                "authorization server of AUTH_ISSUERS."};
    }
    login_ptr known;
    for (const auto& [secret, who] : tokens_)
        if (same_secret(of.token, secret) && !known) known = who;
    if (known && of.scheme != "dpop") return {std::move(known)};
    if (const auto key = api_key::read(of.token)) return judge_key(*key, of);
    if (everybody_) return {everybody_};
    if (has_issuers() && of.token.size() <= longest_token) return judge_issued(of);
    return refused(
        "The bearer token is not known here; check it against MCP_AUTH_TOKENS, the file auth-token in "
        "SANDBOX_ROOT, or `container-mcp key list`.");
}

identity_store* gatekeeper::store()
{
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
    return store_.get();
}

// A change by another process counts within a second.
const gatekeeper::known_key* gatekeeper::look_up(const std::string& id)
{
    const auto now = event::clock::now();
    const auto known = keys_.find(id);
    if (known != keys_.end() && now - known->second.looked < key_is_fresh) return &known->second;
    auto record = store() != nullptr ? store()->find(id) : std::nullopt;
    if (!record) {
        keys_.erase(id);
        return nullptr;
    }
    if (keys_.size() >= most_keys_known) keys_.clear();
    auto who = key_login(config_, *record);
    auto from = networks::parse(record->networks);
    return &(keys_[id] = {std::move(*record), std::move(from), std::move(who), now});
}

admission gatekeeper::judge_key(const api_key& key, const credentials& of)
{
    const auto* known = look_up(key.id);
    if (known == nullptr || of.scheme == "dpop" || !same_secret(sha256_hex(key.secret), known->record.digest))
        return refused("The API key is not known here; `container-mcp key list` shows those that are.");
    const auto& record = known->record;
    const double now = seconds_of(login::clock::now());
    if (record.revoked != 0) return refused("The API key was revoked; ask for a new one.");
    if (record.expires != 0 && record.expires <= now) return refused("The API key has expired; ask for a new one.");
    if (!known->from.empty() && !known->from.hold(of.peer))
        return refused("The API key may not be used from this address.");
    if (now - record.used >= use_is_noted_after) {
        store()->note_use(record.id, now);
        keys_[record.id].record.used = now;
    }
    return {known->who};
}

issuer* gatekeeper::issuer_of(std::string_view name)
{
    const auto is_it = [name](const issuer& each) { return each.name() == name; };
    const auto at = std::find_if(issuers_.begin(), issuers_.end(), is_it);
    return at == issuers_.end() ? nullptr : &*at;
}

admission gatekeeper::judge_issued(const credentials& of)
{
    const auto now = login::clock::now();
    const auto digest = sha256(of.token);
    if (const auto* known = cache_.find(digest, now)) return admit_issued(*known, of, now);
    if (const auto token = jose::read_jwt(of.token); token && !issuers_.empty()) {
        auto judged = judge_signed(*token, digest, now);
        if (!judged.who) return judged;
        return admit_issued({std::move(judged.who), {}}, of, now);
    }
    if (introspection_.url.empty())
        return refused("The token is not known here, and is no JWT of an issuer of AUTH_ISSUERS.");
    if (introspections_ >= most_introspections)
        return {nullptr, "Too many tokens wait for the authorization server; try again later.", {}, false, true};
    return {nullptr, "The token is not known here.", invalid, true};
}

admission gatekeeper::judge_signed(const jose::jwt& token, const std::string& digest, time_point now)
{
    auto* from = issuer_of(view_of(token.claims, "iss"));
    if (from == nullptr) return refused("The token's issuer is not trusted here.");
    if (!jose::is_known_algorithm(token.algorithm()))
        return refused("The token's signature has no algorithm that is taken here.");
    const auto turn = event::clock::now();
    if (!from->verifies(token, turn)) {
        if (from->may_fetch(token, turn)) return {nullptr, {}, invalid, true};
        if (!from->trouble().empty())
            return {nullptr,
                    "The keys of " + from->name() + " cannot be fetched (" + from->trouble() + "); try again later.",
                    {},
                    false,
                    true};
        return refused("The token's signature is wrong, or its key is not one of its issuer.");
    }
    if (from->is_stale(turn) && !from->is_fetching()) tasks_.spawn("keys of an issuer", from->fetch());
    auto verdict = judge_token(token, rules_, now);
    if (!verdict.who) return refused(std::move(verdict.problem));
    const auto until = std::min(verdict.who->ends, now + std::chrono::hours(1));
    cache_.put(digest, verdict, until);
    return {std::move(verdict.who)};
}

admission gatekeeper::admit_issued(const token_verdict& verdict, const credentials& of, time_point now)
{
    if (!verdict.who) return refused(verdict.problem);
    auto problem = problem_of_binding(*verdict.who, of, now);
    if (!problem.empty()) return refused(std::move(problem), of.scheme == "dpop" ? invalid_proof : invalid);
    return {verdict.who};
}

// A stolen token is of no use without the key, or the certificate, that it names.
std::string gatekeeper::problem_of_binding(const login& who, const credentials& of, time_point now)
{
    if (!who.certificate.empty() && who.certificate != of.certificate)
        return "The token may be used only with the client certificate that it names.";
    const bool proves = of.scheme == "dpop";
    if (who.proof_key.empty()) {
        if (proves) return "The token names no key, so a DPoP proof cannot belong to it; send it as Bearer.";
        return config_.auth_dpop == "require"
                   ? "Only tokens that are bound to a key are taken here (AUTH_DPOP=require)."
                   : "";
    }
    if (config_.auth_dpop == "off")
        return "The token is bound to a key, which this server does not check (AUTH_DPOP=off).";
    if (!proves) return "The token is bound to a key; send it as 'Authorization: DPoP <token>' with a field DPoP.";
    auto proven = of.proof;
    proven.token = of.token;
    return proofs_.problem(proven, who.proof_key, now);
}

awaitable<> gatekeeper::ask(std::string token)
{
    const auto read = jose::read_jwt(token);
    auto* from = read ? issuer_of(view_of(read->claims, "iss")) : nullptr;
    if (from == nullptr) {
        co_await introspect(std::move(token));
        co_return;
    }
    if (!from->is_fetching()) tasks_.spawn("keys of an issuer", from->fetch());
    co_await from->fetched();
}

awaitable<> gatekeeper::introspect(std::string token)
{
    struct counted {
        explicit counted(std::size_t& one) : of(one) { ++of; }
        ~counted() { --of; }
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        std::size_t& of;
    };
    const counted one(introspections_);
    auto digest = sha256(token);
    token_verdict verdict;
    try {
        verdict = co_await introspection_.ask(fetch_, std::move(token), rules_);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& problem) {
        log::warning("introspection_failed", {{"reason", json::string(problem.what())}});
        verdict.problem =
            std::string("The authorization server does not answer (") + problem.what() + "); try again later.";
    }
    const auto now = login::clock::now();
    const auto until =
        verdict.who ? std::min(verdict.who->ends, now + config_.auth_introspection_ttl) : now + unknown_for;
    cache_.put(std::move(digest), std::move(verdict), until);
}

bool gatekeeper::owns(std::string_view token)
{
    const auto same = [token](const auto& known) { return same_secret(token, known.first); };
    if (std::any_of(tokens_.begin(), tokens_.end(), same) || api_key::read(token)) return true;
    if (!has_issuers() || token.size() > longest_token) return false;
    const auto read = jose::read_jwt(token);
    if (read && issuer_of(view_of(read->claims, "iss")) != nullptr) return true;
    return cache_.find(sha256(token), login::clock::now()) != nullptr;
}

login_ptr gatekeeper::by_certificate(const std::string& name) const
{
    auto who = std::make_shared<login>(*token_login(config_, name));
    who->credential = "certificate " + name;
    return who;
}

login_ptr gatekeeper::by_link(std::string_view principal) const
{
    auto who = std::make_shared<login>();
    who->principal = principal;
    who->credential = "link";
    who->scopes = scope::read;
    return who;
}

}  // namespace cmcp
