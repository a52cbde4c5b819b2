#pragma once

#include "text/encodings.hpp"

#include <cctype>
#include <string>
#include <string_view>

namespace cmcp {

/// A value of a form (application/x-www-form-urlencoded).
inline std::string form_encoded(std::string_view text)
{
    return percent_encoded(
        text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~'; });
}

/// The value of Authorization of a client with a secret: both parts are encoded before they are joined (RFC 6749
/// section 2.3.1).
inline std::string basic_authorization(std::string_view client, std::string_view secret)
{
    return "Basic " + base64_encode(form_encoded(client) + ":" + form_encoded(secret));
}

}  // namespace cmcp
