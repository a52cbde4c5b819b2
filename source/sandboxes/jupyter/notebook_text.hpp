#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::jupyter {

/// The members of a JSON object whose text is valid: the name as it is written, with its quotes, and the text of the
/// value. The views are into `object`.
void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& member);

/// The text of a member's value. Nothing where there is none; of several the last counts.
std::optional<std::string_view> member_text(std::string_view object, std::string_view name);

/// Valid JSON with a line for each member, indented by a space a level, as notebooks are kept, up to 16. Numbers and
/// strings stay as they are written.
std::string indented_json(std::string_view text);

}  // namespace cmcp::jupyter
