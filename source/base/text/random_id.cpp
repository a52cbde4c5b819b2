#include "text/random_id.hpp"

#include "text/encodings.hpp"

#include <sys/random.h>

#include <stdexcept>

namespace cmcp {

void fill_random(std::span<unsigned char> bytes)
{
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("the kernel gave no random bytes");
}

std::string random_id(std::size_t bytes)
{
    std::string id(bytes, '\0');
    fill_random({reinterpret_cast<unsigned char*>(id.data()), id.size()});
    return hex_text(id);
}

}  // namespace cmcp
