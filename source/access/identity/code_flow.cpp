#include "identity/code_flow.hpp"

#include "config/identity_settings.hpp"
#include "identity/form_encoding.hpp"
#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/number.hpp"
#include "text/signature.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr auto time_to_come_back = std::chrono::minutes(10);
constexpr auto endpoints_lifetime = std::chrono::minutes(10);
constexpr char apart = '.';

std::string endpoint_in(const json::object& metadata, std::string_view name, std::string_view issuer)
{
    auto address = text_of(metadata, name);
    if (address.starts_with("https://") || (issuer.starts_with("http://") && address.starts_with("http://")))
        return address;
    throw std::runtime_error("The metadata of " + std::string(issuer) + " names no " + std::string(name) +
                             " with https.");
}

std::string parameters(const std::vector<std::pair<std::string_view, std::string>>& all)
{
    std::string text;
    for (const auto& [name, value] : all)
        if (!value.empty()) text.append(text.empty() ? "" : "&").append(name).append("=").append(form_encoded(value));
    return text;
}

}  // namespace

bool code_flow::possible() const { return !config_.auth_ui_client.empty() && fetch_ != nullptr; }

awaitable<code_flow::endpoints> code_flow::endpoints_of(std::string issuer)
{
    const auto known = known_.find(issuer);
    if (known != known_.end() && now_() - known->second.read < endpoints_lifetime) co_return known->second;
    const auto metadata = co_await issuer_metadata(fetch_, issuer);
    endpoints read{endpoint_in(metadata, "authorization_endpoint", issuer),
                   endpoint_in(metadata, "token_endpoint", issuer), now_()};
    co_return known_[issuer] = std::move(read);
}

// ---------------------------------------------------------------- the state
// When it was begun, what makes it one of its kind, and the signature of both, of the issuer and of this server's URLs.
std::string code_flow::state_for(std::string_view begun, std::string_view issuer, const own_urls& here) const
{
    std::string all("state");
    for (const auto part : {begun, issuer, std::string_view(here.callback), std::string_view(here.resource)})
        all.append("\n").append(part);
    return std::string(begun).append(1, apart).append(signature_of(key_, all));
}

std::string code_flow::verifier_for(std::string_view state) const
{
    return signature_of(key_, std::string("verifier\n").append(state));
}

// Null: none, or the person took too long.
const std::string* code_flow::issuer_of(std::string_view state, const own_urls& here) const
{
    const auto begun = state.substr(0, std::min(state.rfind(apart), state.size()));
    const auto at = read_number<event::clock::rep>(begun.substr(0, begun.find(apart)));
    if (!at || now_() - event::clock::time_point(event::clock::duration(*at)) >= time_to_come_back) return nullptr;
    for (const auto& issuer : config_.auth_issuers)
        if (same_secret(state, state_for(begun, issuer, here))) return &issuer;
    return nullptr;
}

// ---------------------------------------------------------------- there and back
awaitable<code_flow::way> code_flow::begin(std::string issuer, own_urls here)
{
    const auto to = co_await endpoints_of(issuer);
    const auto begun = std::to_string(now_().time_since_epoch().count()) + apart + random_id();
    way out;
    out.state = state_for(begun, issuer, here);
    out.url = to.authorization + (to.authorization.find('?') == std::string::npos ? "?" : "&") +
              parameters({{"response_type", "code"},
                          {"client_id", config_.auth_ui_client},
                          {"redirect_uri", here.callback},
                          {"scope", config_.auth_ui_scopes},
                          {"resource", here.resource},
                          {"state", out.state},
                          {"code_challenge", base64url_encode(sha256(verifier_for(out.state)))},
                          {"code_challenge_method", "S256"}});
    co_return out;
}

std::string code_flow::request_for(const answer& back, const own_urls& here) const
{
    return parameters({{"grant_type", "authorization_code"},
                       {"code", back.code},
                       {"redirect_uri", here.callback},
                       {"client_id", config_.auth_ui_client},
                       {"resource", here.resource},
                       {"code_verifier", verifier_for(back.state)}});
}

awaitable<std::string> code_flow::finish(answer back, own_urls here)
{
    const auto* begun_at = issuer_of(back.state, here);
    if (begun_at == nullptr)
        throw std::runtime_error("This login was not begun here, or has taken too long; begin it again.");
    const auto issuer = *begun_at;
    if (!back.issuer.empty() && back.issuer != issuer)
        throw std::runtime_error("This answer is of another authorization server than " + issuer + ".");
    const auto to = co_await endpoints_of(issuer);
    document_request wanted{to.token};
    wanted.form = request_for(back, here);
    if (!config_.auth_ui_secret.empty())
        wanted.headers.emplace_back("Authorization",
                                    basic_authorization(config_.auth_ui_client, config_.auth_ui_secret));
    const auto answer = co_await fetch_(std::move(wanted));
    auto token = text_of(jsonrpc::read_object(answer, 16), "access_token");
    if (token.empty()) throw std::runtime_error(issuer + " gave no access token.");
    co_return token;
}

}  // namespace cmcp
