#include "server/access_token.hpp"

#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "http/bound_address.hpp"
#include "identity/identity_store.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/ascii.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cmcp::command {

namespace {

constexpr std::size_t random_bytes = 24;
constexpr std::size_t shortest = 16;

constexpr const char* instead_of_token = "set MCP_AUTH_TOKENS or MCP_AUTH=none";

std::filesystem::path token_file(const settings& config) { return config.sandbox_root / "auth-token"; }

bool wants_token(const settings& config)
{
    if (config.callers_have_names() || config.auth == "none") return false;
    return config.auth == "token" || !bound_address::only_this_machine(config.host);
}

/// A secret that is made at the first start.
struct kept_secret {
    std::filesystem::path file;
    const char* beginning;
    const char* instead;  ///< what its owner can do
};

config_error cannot_be(const char* what, const kept_secret& of, const std::string& why)
{
    return config_error("The secret in " + of.file.string() + " cannot be " + what + " (" + why +
                        "): mend the file or remove it, or " + of.instead);
}

// Another start may make the file at the same time, so only one of them succeeds.
bool make(const kept_secret& of, std::string& secret)
{
    const unique_fd fresh(::open(of.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fresh && errno == EEXIST) return false;
    secret = of.beginning + random_id(random_bytes);
    if (!fresh || !write_all(fresh.get(), secret + "\n")) throw cannot_be("written", of, std::strerror(errno));
    return true;
}

std::string read(const kept_secret& of)
{
    std::array<char, 256> text{};
    const unique_fd kept(::open(of.file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const auto length = kept ? ::read(kept.get(), text.data(), text.size()) : -1;
    if (length < 0) throw cannot_be("read", of, std::strerror(errno));
    // A volume's owner and mode may be the engine's choice, so this is not required.
    (void)::fchmod(kept.get(), S_IRUSR | S_IWUSR);
    std::string secret(trimmed({text.data(), static_cast<std::size_t>(length)}, white_space));
    if (secret.size() < shortest) throw cannot_be("used", of, "it has fewer than 16 characters");
    return secret;
}

// `fresh`: it was made now.
std::string settle(const kept_secret& of, bool& fresh)
{
    std::string secret;
    fresh = make(of, secret);
    return fresh ? secret : read(of);
}

void note_keys(settings& config)
{
    const auto file = identity_store::file_in(config.sandbox_root);
    if (std::filesystem::exists(file)) config.has_api_keys = identity_store(file).has_keys();
}

// A token is made for one server. Where any name may lead here, which one that is must be told.
void check_issuers(const settings& config)
{
    const bool issued = !config.auth_issuers.empty() || !config.auth_introspection_url.empty();
    if (!issued || !config.public_url.empty() || bound_address::only_this_machine(config.host)) return;
    throw config_error("AUTH_ISSUERS needs MCP_PUBLIC_URL, the address that clients use: tokens must name it (aud)");
}

void settle_link_key(settings& config)
{
    if (!config.callers_have_names() || !config.link_key.empty()) return;
    bool fresh = false;
    config.link_key = settle({config.sandbox_root / "link-key", "", "set SANDBOX_LINK_KEY"}, fresh);
}

}  // namespace

access_token settle_access(settings& config)
{
    access_token access;
    note_keys(config);
    check_issuers(config);
    if (wants_token(config)) {
        access.file = token_file(config);
        config.auth_tokens = {{"", settle({access.file, "cmcp_", instead_of_token}, access.fresh)}};
    }
    settle_link_key(config);
    return access;
}

client_access needed_access(settings config)
{
    note_keys(config);
    client_access access{
        .is_needed = config.callers_have_names(), .by_login = !config.auth_issuers.empty(), .token = {}};
    if (!wants_token(config)) return access;
    access.is_needed = true;
    const kept_secret kept{token_file(config), "cmcp_", instead_of_token};
    if (!std::filesystem::exists(kept.file))
        throw config_error("the server makes its token at its first start: start it, then connect");
    access.token = read(kept);
    return access;
}

std::string credentials_in_words(const settings& config)
{
    std::string issued = config.auth_issuers.empty() && config.auth_introspection_url.empty()
                             ? ""
                             : "a token of an authorization server (AUTH_ISSUERS)";
    if (!config.has_api_keys) return issued;
    return "an API key (container-mcp key list)" + (issued.empty() ? "" : " or " + issued);
}

std::string access_in_words(const settings& config)
{
    if (config.auth_tokens.empty() && config.callers_have_names())
        return "callers need " + credentials_in_words(config);
    if (!config.auth_tokens.empty())
        return "callers need one of " + std::to_string(config.auth_tokens.size()) + " tokens (MCP_AUTH_TOKENS)";
    if (wants_token(config)) return "callers need the token of " + token_file(config).string();
    if (bound_address::only_this_machine(config.host)) return "no token: only programs on this machine may connect";
    return "no token: whoever reaches " + config.host + " can run code here (MCP_AUTH=none)";
}

}  // namespace cmcp::command
