#pragma once

#include <string>

namespace cmcp {

/// What the page looks like.
struct browser_screenshot {
    std::string media_type;  ///< image/png or image/jpeg; empty: none that is small enough
    std::string base64;
};

}  // namespace cmcp
