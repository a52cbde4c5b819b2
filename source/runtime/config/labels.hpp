#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// What servers are told apart by: names with a value each.
using label_map = std::map<std::string, std::string, std::less<>>;

/// Of "gpu=a100", "zone=b". Names and values are of letters, digits and . _ -, at most 63 each. Nothing: a word is of
/// another form, or a name has two values.
std::optional<label_map> read_labels(const std::vector<std::string>& words);

/// Whether all that are wanted are among those that are there.
bool has_labels(const label_map& there, const label_map& wanted);

/// "gpu=a100,zone=b"; and back, where it was written so.
std::string labels_text(const label_map& labels);
label_map labels_in(std::string_view text);

}  // namespace cmcp
