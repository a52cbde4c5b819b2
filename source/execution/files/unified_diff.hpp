#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The difference between two texts, line by line, as `diff -u` writes it, with three lines around each change; empty
/// when there is none. Of texts that differ in very many lines the whole part between the first and the last change is
/// one change.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view path);

}  // namespace cmcp
