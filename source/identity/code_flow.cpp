#include "identity/code_flow.hpp"

#include "identity/form_encoding.hpp"
#include "identity/issuer_metadata.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <stdexcept>

namespace cmcp {

namespace {

constexpr auto time_to_come_back = std::chrono::minutes(10);
constexpr std::size_t most_pending = 1000;
constexpr std::size_t verifier_bytes = 32;

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

void code_flow::forget_old(clock::time_point now)
{
    std::erase_if(pending_, [now](const auto& each) { return now - each.second.begun >= time_to_come_back; });
    if (pending_.size() >= most_pending) throw std::runtime_error("Too many people log in just now; try again later.");
}

awaitable<code_flow::way> code_flow::begin(step wanted)
{
    const auto metadata = co_await issuer_metadata(fetch_, wanted.issuer);
    forget_old(clock::now());
    pending one{wanted, random_id(verifier_bytes), endpoint_in(metadata, "token_endpoint", wanted.issuer),
                clock::now()};
    way out;
    out.state = random_id();
    const auto address = endpoint_in(metadata, "authorization_endpoint", wanted.issuer);
    out.url = address + (address.find('?') == std::string::npos ? "?" : "&") +
              parameters({{"response_type", "code"},
                          {"client_id", config_.auth_ui_client},
                          {"redirect_uri", wanted.callback},
                          {"scope", config_.auth_ui_scopes},
                          {"resource", wanted.resource},
                          {"state", out.state},
                          {"code_challenge", base64url_encode(sha256(one.verifier))},
                          {"code_challenge_method", "S256"}});
    pending_.emplace(out.state, std::move(one));
    co_return out;
}

awaitable<std::string> code_flow::finish(answer back)
{
    auto begun = pending_.extract(back.state);
    if (begun.empty() || clock::now() - begun.mapped().begun >= time_to_come_back)
        throw std::runtime_error("This login was not begun here, or has taken too long; begin it again.");
    const auto& one = begun.mapped();
    if (!back.issuer.empty() && back.issuer != one.of.issuer)
        throw std::runtime_error("This answer is of another authorization server than " + one.of.issuer + ".");
    document_request wanted{one.token_endpoint};
    wanted.form = parameters({{"grant_type", "authorization_code"},
                              {"code", back.code},
                              {"redirect_uri", one.of.callback},
                              {"client_id", config_.auth_ui_client},
                              {"resource", one.of.resource},
                              {"code_verifier", one.verifier}});
    if (!config_.auth_ui_secret.empty())
        wanted.headers.emplace_back("Authorization",
                                    basic_authorization(config_.auth_ui_client, config_.auth_ui_secret));
    const auto answer = co_await fetch_(std::move(wanted));
    auto token = text_of(jsonrpc::read_object(answer, 16), "access_token");
    if (token.empty()) throw std::runtime_error(one.of.issuer + " gave no access token.");
    co_return token;
}

}  // namespace cmcp
