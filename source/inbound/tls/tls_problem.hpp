#pragma once

#include <string>

namespace cmcp {

/// OpenSSL's words for its oldest error on this thread, as a part of a sentence. Forgets all of them.
std::string tls_problem();

}  // namespace cmcp
