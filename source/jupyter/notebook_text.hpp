#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp::jupyter {

/// The text of a member's value in the text of a JSON object, which is valid. Nothing where there is none.
std::optional<std::string_view> member_text(std::string_view object, std::string_view name);

/// Valid JSON with a line for each member, indented by a space a level, as notebooks are kept. Numbers and strings stay
/// as they are written.
std::string indented_json(std::string_view text);

}  // namespace cmcp::jupyter
