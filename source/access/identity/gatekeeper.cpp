#include "identity/gatekeeper.hpp"

#include "config/settings.hpp"
#include "identity/identity_store.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"
#include "text/signature.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr auto key_is_fresh = std::chrono::seconds(1);
constexpr std::size_t most_keys_known = 10'000, longest_token = 16 * 1024;
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
    who->from = login::source::token;
    if (name.empty() || is_admin(config, name)) who->scopes = scope_set::all();
    return who;
}

// Where callers have no names, everybody administers the server.
login_ptr everybody_login()
{
    auto who = std::make_shared<login>();
    who->credential = "none";
    who->scopes = scope_set::all();
    return who;
}

// A key whose networks cannot be read is good nowhere.
std::optional<networks> networks_of(const key_record& key)
try {
    return key.networks.empty() ? std::nullopt : std::optional(networks::parse(key.networks));
} catch (const std::invalid_argument& wrong) {
    log::error("key_networks_unreadable",
               {{"key", key.id}, {"reason", wrong.what()}, {"advice", "make a new key with --networks"}});
    return networks();
}

login_ptr key_login(const settings& config, const key_record& key)
{
    auto who = std::make_shared<login>();
    who->principal = key.principal;
    who->credential = "key " + key.id;
    who->from = login::source::key;
    who->handle = key.id;
    who->scopes = scope_set::parse(key.scopes);
    if (is_admin(config, key.principal)) who->scopes = scope_set::all();
    who->profile = key.profile;
    if (key.expires != 0) who->ends = time_of(key.expires);
    return who;
}

}  // namespace

gatekeeper::gatekeeper(asio::any_io_executor executor, const settings& config, document_fetch fetch)
    : config_(config),
      issued_(executor, config, std::move(fetch), [this](std::string_view issuer, std::string_view subject) {
          return store() != nullptr ? store()->principal_of(issuer, subject) : std::string();
      })
{
    tokens_changed();
    if (!config.callers_have_names()) everybody_ = everybody_login();
    if (!config.public_url.empty()) serve_at({config.public_url});
}

gatekeeper::~gatekeeper() = default;

// A token that stays keeps its login, so that what goes on with it goes on.
void gatekeeper::tokens_changed()
{
    const auto before = std::exchange(tokens_, {});
    for (const auto& entry : config_.auth_tokens) {
        const auto& [name, secret] = entry;
        const auto same = [&entry](const auto& old) {
            return old.first == entry.second && old.second->principal == entry.first;
        };
        const auto known = std::find_if(before.begin(), before.end(), same);
        tokens_.emplace_back(secret, known != before.end() ? known->second : token_login(config_, name));
    }
}

// The server has several endpoints, and clients ask for a token of the one that they know (RFC 8707).
void gatekeeper::serve_at(const std::vector<std::string>& addresses)
{
    for (auto address : addresses) {
        while (address.ends_with('/')) address.pop_back();
        for (const auto* path : {"", "/", "/mcp", "/mcp/", "/sse", "/sse/"}) issued_.serve_at(address + path);
    }
}

admission gatekeeper::judge(const credentials& of)
{
    if (of.scheme.empty()) {
        if (everybody_) return {everybody_};
        return admission::refused(
            "no_credentials",
            "Send 'Authorization: Bearer <token>' with a token of MCP_AUTH_TOKENS, that of the file "
            "auth-token in SANDBOX_ROOT, an API key (container-mcp key create), or one of an "
            "authorization server of AUTH_ISSUERS.",
            {});
    }
    login_ptr known;
    for (const auto& [secret, who] : tokens_)
        if (same_secret(of.token, secret) && !known) known = who;
    if (known && of.scheme != "dpop") return {std::move(known)};
    if (const auto key = api_key::read(of.token)) return judge_key(*key, of);
    if (everybody_) return {everybody_};
    if (has_issuers() && of.token.size() <= longest_token) return issued_.judge(of);
    return admission::refused(
        "unknown_token",
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
    if (record) return &keep(std::move(*record), false);
    if (known != keys_.end() && !known->second.is_elsewhere) keys_.erase(known);
    return nullptr;
}

const gatekeeper::known_key& gatekeeper::keep(key_record record, bool is_elsewhere)
{
    if (keys_.size() >= most_keys_known) keys_.clear();
    auto who = key_login(config_, record);
    auto from = networks_of(record);
    auto& entry = keys_[record.id];
    entry = {std::move(record), std::move(from), std::move(who), event::clock::now(), is_elsewhere};
    return entry;
}

void gatekeeper::share(shared_logins with)
{
    shared_ = with;
    issued_.share(std::move(with));
}

awaitable<> gatekeeper::ask(credentials of)
{
    if (const auto key = api_key::read(of.token)) return ask_for_key(key->id);
    return issued_.ask(of);
}

bool gatekeeper::may_be_elsewhere(const std::string& id) const
{
    if (!shared_.find_key) return false;
    const auto last = asked_keys_.find(id);
    return last == asked_keys_.end() || event::clock::now() - last->second >= key_is_fresh;
}

// Where nobody answers, the key stays as it was known last.
awaitable<> gatekeeper::ask_for_key(std::string id)
{
    auto lookup = co_await shared_.find_key(id);
    if (asked_keys_.size() >= most_keys_known) asked_keys_.clear();
    asked_keys_[id] = event::clock::now();
    if (store() != nullptr && store()->find(id)) co_return;
    const auto known = keys_.find(id);
    if (lookup.record)
        keep(std::move(*lookup.record), true);
    else if (known != keys_.end() && !lookup.is_answered && known->second.is_elsewhere)
        known->second.looked = event::clock::now();
    else if (known != keys_.end())
        keys_.erase(known);
}

admission gatekeeper::judge_key(const api_key& key, const credentials& of)
{
    const auto* known = look_up(key.id);
    if (known == nullptr && may_be_elsewhere(key.id)) return {nullptr, {}, admission::invalid_token, true};
    digest_memo own;
    const auto& digest = (of.digests != nullptr ? *of.digests : own).of(key.secret);
    if (known == nullptr || of.scheme == "dpop" || !same_secret(digest, known->record.digest))
        return admission::refused("unknown_key",
                                  "The API key is not known here; `container-mcp key list` shows those that are.");
    const auto& record = known->record;
    const double now = seconds_of(login::clock::now());
    if (record.revoked != 0) return admission::refused("revoked_key", "The API key was revoked; ask for a new one.");
    if (record.expires != 0 && record.expires <= now)
        return admission::refused("expired_key", "The API key has expired; ask for a new one.");
    if (known->from && !known->from->hold(of.peer))
        return admission::refused("address", "The API key may not be used from this address.");
    if (!known->is_elsewhere && now - record.used >= use_is_noted_after) {
        store()->note_use(record.id, now);
        keys_[record.id].record.used = now;
    }
    return {known->who};
}

awaitable<bool> gatekeeper::still_counts(login_ptr who)
{
    const auto now = login::clock::now();
    if (who->from == login::source::token)
        co_return std::ranges::find(tokens_, who, &known_token::second) != tokens_.end();
    if (who->from == login::source::key) {
        const auto* known = look_up(who->handle);
        if (known == nullptr && may_be_elsewhere(who->handle)) {
            co_await ask_for_key(who->handle);
            known = look_up(who->handle);
        }
        co_return known != nullptr && known->record.revoked == 0 && who->ends > now;
    }
    if (who->from != login::source::issuer) co_return true;
    co_return co_await issued_.still_counts(std::move(who));
}

bool gatekeeper::owns(std::string_view token)
{
    const auto same = [token](const auto& known) { return same_secret(token, known.first); };
    if (std::any_of(tokens_.begin(), tokens_.end(), same) || api_key::read(token)) return true;
    return has_issuers() && token.size() <= longest_token && issued_.may_have(token);
}

login_ptr gatekeeper::by_certificate(const std::string& name) const
{
    auto who = std::make_shared<login>();
    who->principal = name;
    who->credential = "certificate " + name;
    if (is_admin(config_, name)) who->scopes = scope_set::all();
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
