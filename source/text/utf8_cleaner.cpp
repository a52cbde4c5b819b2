#include "text/utf8_cleaner.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view replacement_text = "\xEF\xBF\xBD";

}  // namespace

std::string utf8_cleaner::add(std::string_view bytes)
{
    std::string with_carried;
    if (!carried_.empty()) {
        with_carried = std::exchange(carried_, {});
        with_carried.append(bytes);
        bytes = with_carried;
    }
    std::string text;
    text.reserve(bytes.size());
    for (;;) {
        const std::size_t valid = valid_utf8_length(bytes);
        text.append(bytes.substr(0, valid));
        bytes.remove_prefix(valid);
        if (bytes.empty()) return text;
        if (is_cut_utf8(bytes)) {
            carried_ = bytes;
            return text;
        }
        text.append(replacement_text);
        // Unicode, "maximal subparts": the bytes that fit one character are replaced as a whole.
        bytes.remove_prefix(std::max<std::size_t>(first_character(bytes).fits, 1));
    }
}

std::string utf8_cleaner::finish()
{
    if (carried_.empty()) return {};
    carried_.clear();
    return std::string(replacement_text);
}

}  // namespace cmcp
