#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// `attachment` with a file name that cannot end the header or mean a path (RFC 6266): a plain ASCII form for old
/// clients and the exact one in UTF-8.
std::string content_disposition(std::string_view name);

}  // namespace cmcp
