#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace cmcp::backup {

/// SHA-256 of bytes that come one after the other.
class running_digest {
public:
    running_digest();
    ~running_digest();
    void put(std::string_view bytes);
    std::string hex() const;  ///< of all bytes until now

private:
    struct closer {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, closer> context_;
};

}  // namespace cmcp::backup
