#include "tls/tls_problem.hpp"

#include <openssl/err.h>

namespace cmcp {

std::string tls_problem()
{
    const unsigned long code = ::ERR_get_error();
    ::ERR_clear_error();
    if (code == 0) return "the connection ended";
    const char* words = ::ERR_reason_error_string(code);
    return words == nullptr ? "error " + std::to_string(code) : words;
}

}  // namespace cmcp
