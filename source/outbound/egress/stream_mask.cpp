#include "egress/stream_mask.hpp"

#include "egress/decoded_text.hpp"

#include <algorithm>

namespace cmcp {
namespace {

// Independently of the text before it.
bool ends_row(char c)
{
    return !is_base64_digit(c) && std::string_view("\0\r\n\t ", 5).find(c) == std::string_view::npos;
}

}  // namespace

std::string stream_mask::feed(std::string_view piece)
{
    if (!masks_) return std::string(piece);
    watch(piece);
    text_ += piece;
    shown_ += piece;
    is_masked_.resize(text_.size(), 0);
    return release(false);
}

std::string stream_mask::finish() { return masks_ ? release(true) : std::string(); }

// Two kinds of forms: visible characters, with zero bytes in UTF-16; and rows of digits, which may have single ends of
// lines within them. Only what stands behind the last byte that is in none of them counts.
void stream_mask::watch(std::string_view piece)
{
    const auto before = text_.size();
    for (auto at = piece.size(); at-- > 0;)
        if (!is_visible(piece[at]) && piece[at] != '\0') {
            visible_from_ = before + at + 1;
            break;
        }
    auto at = piece.size();
    while (at > 0 && !ends_row(piece[at - 1])) --at;
    if (at > 0) {
        row_is_ = line::none;
        row_from_ = before + at;
    }
    for (; at < piece.size(); ++at) watch_row(piece[at], before + at);
}

void stream_mask::watch_row(char c, std::size_t at)
{
    const bool begins_line = row_is_ == line::carriage || row_is_ == line::end;
    if (is_base64_digit(c)) {
        if (row_is_ == line::none) row_from_ = at;
        row_is_ = line::digits;
        return;
    }
    if (c == '\0' && row_is_ != line::none) return;
    if (c == '\r' && row_is_ == line::digits)
        row_is_ = line::carriage;
    else if ((c == '\n' && (row_is_ == line::digits || row_is_ == line::carriage)) ||
             ((c == ' ' || c == '\t') && begins_line))
        row_is_ = line::end;
    else
        row_is_ = line::none;
    if (row_is_ == line::none) row_from_ = at + 1;
}

// Up to where no form begins that could go on; else, in the middle of what could be forms, all but the longest one,
// once there is twice as much. So each byte is looked at a bounded number of times.
std::string stream_mask::release(bool is_end)
{
    const auto free = is_end ? text_.size() : std::min(visible_from_, row_from_), longest = masks_->longest_form();
    const bool is_cut = text_.size() - free >= 2 * longest;
    if (free == 0 && !is_cut) return {};
    const auto most = is_cut ? text_.size() - longest : free;
    const auto forms = masks_->find(text_, most);
    const auto size = is_cut && forms.cut > most / 2 ? forms.cut : most;
    for (const auto& each : forms.all)
        if (each.begin < size) secret_masks::put(each, shown_, is_masked_);
    std::string out = shown_.substr(0, size);
    for (auto* held : {&text_, &shown_, &is_masked_}) held->erase(0, size);
    visible_from_ -= std::min(visible_from_, size);
    row_from_ -= std::min(row_from_, size);
    return out;
}

}  // namespace cmcp
