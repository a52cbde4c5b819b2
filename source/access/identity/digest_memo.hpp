#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The digest of the secret that was looked at last: a connection brings the same one with each request.
class digest_memo {
public:
    /// SHA-256 as 64 hexadecimal digits, good until the next call.
    const std::string& of(std::string_view secret);

private:
    std::string secret_;
    std::string digest_;
};

}  // namespace cmcp
