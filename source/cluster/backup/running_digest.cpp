#include "backup/running_digest.hpp"

#include "text/encodings.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace cmcp::backup {

void running_digest::closer::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

running_digest::running_digest() : context_(EVP_MD_CTX_new())
{
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("the library has no SHA-256");
}

running_digest::~running_digest() = default;

void running_digest::put(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string running_digest::hex() const
{
    const std::unique_ptr<evp_md_ctx_st, closer> copy(EVP_MD_CTX_new());
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_MD_CTX_copy_ex(copy.get(), context_.get());
    EVP_DigestFinal_ex(copy.get(), digest.data(), &length);
    return hex_text({reinterpret_cast<const char*>(digest.data()), length});
}

}  // namespace cmcp::backup
