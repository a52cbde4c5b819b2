#include "egress/secret_masks.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cmcp {
namespace {

std::string_view name_in_html(char c)
{
    switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&apos;";
        default:
            return "&-;";
    }
}

/// Where the text may go on behind a character that stands at its beginning in one of its spellings, as it is or
/// escaped in URLs, JSON and HTML. There may be two ways to read it, because a secret may hold characters that escape.
class spellings {
public:
    spellings(std::string_view text, char c)
    {
        const char first = text.front();
        if (first == c || (first == '+' && c == ' ')) ways_[count_++] = 1;
        if (first == '%' || first == '\\' || first == '&') add_escapes(text, c);
    }
    const std::size_t* begin() const { return ways_.data(); }
    const std::size_t* end() const { return ways_.data() + count_; }
    bool may_go_on() const { return may_go_on_; }

private:
    void add_escapes(std::string_view text, char c)
    {
        const std::string digits = hex_text({&c, 1});
        add(text, "%" + digits);
        add(text, "\\u00" + digits);
        add(text, "\\x" + digits);
        if (c == '"' || c == '\\' || c == '/' || c == '\'') add(text, std::string{'\\', c});
        add(text, "&#" + std::to_string(static_cast<unsigned char>(c)) + ";");
        add(text, "&#x" + digits + ";");
        add(text, name_in_html(c));
    }

    void add(std::string_view text, std::string_view spelling)
    {
        const auto size = std::min(text.size(), spelling.size());
        if (!equal_ignoring_case(text.substr(0, size), spelling.substr(0, size))) return;
        if (size < spelling.size())
            may_go_on_ = true;
        else
            ways_[count_++] = size;
    }

    std::array<std::size_t, 8> ways_{};
    std::size_t count_ = 0;
    bool may_go_on_ = false;
};

constexpr bool escapes(char c) { return c == '%' || c == '\\' || c == '&' || c == '+'; }
constexpr bool ends_line(char c) { return c == '\r' || c == '\n'; }

// Most texts differ from a form in one of their first two characters, which is told without more ado.
bool may_be(std::string_view text, const secret_masks::form& of)
{
    if (escapes(text[0])) return true;
    if (text[0] != of.hidden[0]) return false;
    if (text.size() < 2 || of.hidden.size() < 2) return true;
    return text[1] == of.hidden[1] || escapes(text[1]) || (of.wraps && ends_line(text[1]));
}

/// A form at the beginning of a text.
struct form_match {
    std::size_t size = 0;  // 0: it is not there as a whole
    bool may_go_on = false;
};

// A bounded number, so that what waits for its end is bounded.
std::size_t behind_line_ends(std::string_view text, std::size_t at)
{
    constexpr std::size_t most_ends = 4;
    const auto last = std::min(text.size(), at + most_ends);
    while (at < last && ends_line(text[at])) ++at;
    return at;
}

form_match match_form(std::string_view text, const secret_masks::form& of)
{
    form_match result;
    std::vector<std::size_t> places{0}, next;
    for (const char c : of.hidden) {
        next.clear();
        for (std::size_t at : places) {
            if (of.wraps && at > 0) at = behind_line_ends(text, at);
            if (at == text.size()) result.may_go_on = true;
            if (at == text.size()) continue;
            const spellings ways(text.substr(at), c);
            result.may_go_on = result.may_go_on || ways.may_go_on();
            for (const auto size : ways)
                if (std::ranges::find(next, at + size) == next.end()) next.push_back(at + size);
        }
        places.swap(next);
        if (places.empty()) return result;
    }
    result.size = *std::ranges::max_element(places);
    return result;
}

// The digits of base64 that the text alone decides when `lead` bytes of another one are in front of it.
std::string inner_base64(const std::string& text, std::size_t lead)
{
    constexpr std::array<std::size_t, 3> mixed{0, 2, 3};
    const std::string all = base64_encode(std::string(lead, '\0') + text);
    const std::size_t whole = (lead + text.size()) * 8 / 6;
    return all.substr(mixed[lead], whole - mixed[lead]);
}

std::string for_urls(std::string base64)
{
    std::ranges::replace(base64, '+', '-');
    std::ranges::replace(base64, '/', '_');
    return base64;
}

std::string in_utf16(const std::string& text)
{
    std::string wide;
    for (const char c : text) (wide += c) += '\0';
    wide.pop_back();  // the byte of either byte order that is left out stands beside it
    return wide;
}

std::string fitted(std::string mask, std::size_t size)
{
    mask.resize(size, '*');
    return mask;
}

}  // namespace

void secret_masks::add_form(std::string hidden, const std::string& shown, bool wraps)
{
    const auto is_same = [&](const form& each) { return each.hidden == hidden; };
    if (hidden.empty() || std::ranges::any_of(forms_, is_same)) return;
    for (const char c : {hidden.front(), '%', '\\', '&'}) beginnings_.set(static_cast<unsigned char>(c));
    if (hidden.front() == ' ') beginnings_.set('+');
    forms_.push_back({std::move(hidden), shown, wraps});
}

void secret_masks::add(const held_secret& secret)
{
    const auto& value = secret.value;
    const auto shown = fitted(secret.placeholder, value.size());
    add_form(value, secret.placeholder);
    for (const std::size_t lead : {0u, 1u, 2u}) {
        const auto digits = inner_base64(value, lead), mask = inner_base64(shown, lead);
        add_form(digits, mask, true);
        add_form(for_urls(digits), for_urls(mask), true);
    }
    const bool is_login = secret.place.is == secret_place::kind::basic;
    for (const auto& user : {std::string(), is_login ? secret.place.name + ":" : std::string()})
        add_form(base64_encode(user + value), base64_encode(user + shown), true);
    add_form(hex_text(value), hex_text(shown));
    add_form(upper_case(hex_text(value)), upper_case(hex_text(shown)));
    add_form(in_utf16(value), in_utf16(shown));
}

secret_masks::found_form secret_masks::at_beginning_of(std::string_view text) const
{
    found_form best;
    for (const auto& each : forms_) {
        if (!may_be(text, each)) continue;
        const auto one = match_form(text, each);
        best.may_go_on = best.may_go_on || one.may_go_on;
        if (one.size > best.size) {
            best.size = one.size;
            best.of = &each;
        }
    }
    return best;
}

std::string secret_masks::mask_of(const form& of, std::size_t size) { return fitted(of.shown, size); }

std::string secret_masks::masked(std::string_view whole) const
{
    // Without a copy of this, because the mask does not outlive the call.
    stream_mask one(std::shared_ptr<const secret_masks>(std::shared_ptr<const secret_masks>(), this));
    std::string text = one.feed(whole);
    return text += one.finish();
}

std::string stream_mask::feed(std::string_view piece)
{
    if (!masks_ || masks_->empty()) return std::string(piece);
    rest_ += piece;
    return take(false);
}

std::string stream_mask::finish() { return masks_ ? take(true) : std::string(); }

// A form that may go on waits for the next piece with all behind it.
std::string stream_mask::take(bool is_end)
{
    std::string out;
    out.reserve(rest_.size());
    std::size_t at = 0;
    while (at < rest_.size()) {
        secret_masks::found_form form;
        if (masks_->may_begin_with(rest_[at])) form = masks_->at_beginning_of(std::string_view(rest_).substr(at));
        if (form.may_go_on && !is_end) break;
        if (form.size == 0)
            out += rest_[at++];
        else
            out += secret_masks::mask_of(*form.of, form.size);
        at += form.size;
    }
    rest_.erase(0, at);
    return out;
}

}  // namespace cmcp
