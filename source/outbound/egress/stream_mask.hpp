#pragma once

#include "egress/secret_masks.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// Masks a body that comes in pieces; a form may begin in one piece and end in another one. What it gives, and when,
/// depends on the bytes that came and on the lengths of the values, never on the values: it holds back what could be
/// the beginning of a form of any value of these lengths.
class stream_mask {
public:
    /// Null: nothing is masked.
    explicit stream_mask(std::shared_ptr<const secret_masks> masks) : masks_(std::move(masks)) {}

    std::string feed(std::string_view piece);  ///< all that may go by now
    std::string finish();                      ///< the rest
    bool is_masking() const { return masks_ != nullptr; }
    std::size_t held() const { return text_.size(); }

private:
    enum class line { none, digits, carriage, end };  ///< what a row of digits has come to

    void watch(std::string_view piece);
    void watch_row(char c, std::size_t at);
    std::string release(bool is_end);

    std::shared_ptr<const secret_masks> masks_;
    std::string text_, shown_, is_masked_;  ///< what is held: as it came, as it goes, and which bytes a mask has
    std::size_t visible_from_ = 0;          ///< since when there were visible characters and zero bytes alone
    std::size_t row_from_ = 0;              ///< since when digits alone, with ends of lines
    line row_is_ = line::none;
};

}  // namespace cmcp
