#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// The difference between two texts, line by line, as `diff -u` writes it, with three lines around each change; empty
/// when there is none. Of texts that differ in very many lines the whole part between the first and the last change is
/// one change. `shown`: what is shown in place of a line; null: the line.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view path,
                         std::string (*shown)(std::string_view line) = nullptr);

/// At most so many bytes of a diff, in whole lines, with a last one that says from which line on the changed file shows
/// the rest.
std::string beginning_of_diff(std::string diff, std::size_t most);

}  // namespace cmcp
