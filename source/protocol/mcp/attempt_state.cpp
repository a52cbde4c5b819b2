#include "mcp/attempt_state.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/params.hpp"
#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <chrono>
#include <stdexcept>

namespace cmcp {

namespace {

bool same(std::string_view a, std::string_view b)
{
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

[[noreturn]] void refuse_state()
{
    throw rpc_error(
        rpc_code::invalid_params,
        "Invalid params: `requestState` is not valid: send back exactly what the server gave, or start over "
        "without it");
}

using hmac_key = std::array<unsigned char, 32>;

hmac_key hmac_of(const void* key, std::size_t size, std::string_view text)
{
    hmac_key digest;
    unsigned int length = 0;
    if (!HMAC(EVP_sha256(), key, static_cast<int>(size), reinterpret_cast<const unsigned char*>(text.data()),
              text.size(), digest.data(), &length))
        throw std::runtime_error("HMAC failed");
    return digest;
}

constexpr std::int64_t lifetime_seconds = 3600;

std::int64_t now()
{
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::string subject_of(const stateless_request& incoming)
{
    const auto* name = incoming.params.if_contains("name");
    if (!name) name = incoming.params.if_contains("uri");
    json::array subject;
    subject.emplace_back(json::string(incoming.own.principal));
    subject.emplace_back(json::string(incoming.method));
    subject.push_back(name ? *name : json::value());
    return json::serialize(subject);
}

[[noreturn]] void refuse_attempt(const std::string& reason)
{
    throw rpc_error(rpc_code::invalid_params, "Invalid params: " + reason);
}

void open_state(attempt_state& state, const stateless_request& incoming, const request_state& seal)
{
    const auto* sealed = jsonrpc::given(incoming.params, "requestState", json::kind::double_);
    if (!sealed) return;
    if (!sealed->is_string()) refuse_attempt("`requestState` must be a string");
    const auto opened = seal.open(std::string_view(sealed->get_string()));
    if (opened.at("subject").as_string() != subject_of(incoming))
        refuse_attempt("`requestState` belongs to another request");
    if (now() > opened.at("until").as_int64()) refuse_attempt("`requestState` has expired: start over without it");
    state.tool_state = std::string(opened.at("state").as_string());
    state.answers = opened.at("answers").as_object();
    state.job = cmcp::view_of(opened, "job");
}

}  // namespace

// The label keeps the key apart from others that are made of the same secret.
request_state::request_state(std::string_view secret)
{
    if (secret.empty())
        fill_random(key_);
    else
        key_ = hmac_of(secret.data(), secret.size(), "container-mcp requestState");
}

std::string request_state::signature(std::string_view text) const
{
    const auto digest = hmac_of(key_.data(), key_.size(), text);
    return base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string request_state::seal(const json::object& state) const
{
    const auto text = base64_encode(jsonrpc::write_json(state));
    return text + "." + signature(text);
}

json::object request_state::open(std::string_view sealed) const
{
    const auto dot = sealed.find('.');
    if (dot == std::string_view::npos) refuse_state();
    const auto text = sealed.substr(0, dot);
    if (!same(sealed.substr(dot + 1), signature(text))) refuse_state();
    return json::parse(base64_decode(text).value()).as_object();
}

attempt_state attempt_state::from(const stateless_request& incoming, const request_state& seal)
{
    attempt_state state;
    open_state(state, incoming, seal);
    if (!jsonrpc::given(incoming.params, "inputResponses", json::kind::object)) return state;
    for (const auto& member : required_object(incoming.params, "inputResponses")) {
        if (!member.value().is_object())
            refuse_attempt("`inputResponses." + std::string(member.key().substr(0, 100)) + "` must be an object");
        state.answers[member.key()] = member.value();
    }
    return state;
}

json::object input_required_result(const stateless_request& incoming, const input_required& needed,
                                   const json::object& used, const request_state& seal)
{
    json::object result;
    result["resultType"] = "input_required";
    if (!needed.input_requests.empty()) result["inputRequests"] = needed.input_requests;
    const bool has_state = !needed.request_state.empty() || !needed.job.empty() || !used.empty();
    if (!has_state && !needed.input_requests.empty()) return result;
    json::object state;
    state["subject"] = subject_of(incoming);
    state["until"] = now() + lifetime_seconds;
    state["state"] = needed.request_state;
    state["answers"] = used;
    if (!needed.job.empty()) state["job"] = needed.job;
    result["requestState"] = seal.seal(state);
    return result;
}

}  // namespace cmcp
