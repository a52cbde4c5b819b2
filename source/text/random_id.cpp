#include "text/random_id.hpp"

#include <sys/random.h>

#include <array>
#include <stdexcept>

namespace cmcp {

std::string random_id()
{
    std::array<unsigned char, 20> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("the kernel gave no random bytes");
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (auto byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace cmcp
