#include "identity/digest_memo.hpp"

#include "text/encodings.hpp"
#include "text/signature.hpp"

namespace cmcp {

const std::string& digest_memo::of(std::string_view secret)
{
    constexpr std::size_t longest_remembered = 4096;
    if (!secret_.empty() && same_secret(secret, secret_)) return digest_;
    secret_.clear();  // where memory is short, the old one does not go with the new digest
    digest_ = sha256_hex(secret);
    secret_ = secret.size() <= longest_remembered ? secret : std::string_view();
    return digest_;
}

}  // namespace cmcp
