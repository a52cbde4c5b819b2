#pragma once

#include <string>
#include <string_view>

namespace cmcp::load {

/// What a server says of a failure, on one short line: the message of a JSON-RPC error, the error or exit code of a
/// tool's result, or the text of an HTTP answer.
std::string failure_text(std::string_view answer);

}  // namespace cmcp::load
