#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>

struct evp_md_ctx_st;
struct evp_md_st;

namespace cmcp {

inline constexpr std::size_t digest_length = 64;  ///< hexadecimal digits

/// Makes SHA-256 digests, without the library's look-up for each of them. For one thread.
class digest_maker {
public:
    digest_maker();  ///< throws std::runtime_error when the library has no SHA-256

    /// Of the texts one behind another, as 64 lower-case hexadecimal digits, which are good until the next call.
    std::string_view of(std::initializer_list<std::string_view> texts);

    /// The same as 32 bytes.
    using bytes = std::array<unsigned char, digest_length / 2>;
    bytes bytes_of(std::initializer_list<std::string_view> texts);

private:
    struct free_state {
        void operator()(evp_md_ctx_st* state) const;
        void operator()(evp_md_st* kind) const;
    };
    std::unique_ptr<evp_md_st, free_state> sha256_;
    std::unique_ptr<evp_md_ctx_st, free_state> state_;
    std::array<char, digest_length> text_{};
};

}  // namespace cmcp
