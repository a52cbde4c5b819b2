#include "mcp/request_state.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/base64.hpp"
#include "text/random_id.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

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

}  // namespace

request_state::request_state() { fill_random(key_); }

std::string request_state::signature(std::string_view text) const
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (!HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
              reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &length))
        throw std::runtime_error("HMAC failed");
    return base64_encode({reinterpret_cast<const char*>(digest), length});
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

}  // namespace cmcp
