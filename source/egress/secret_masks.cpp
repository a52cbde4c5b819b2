#include "egress/secret_masks.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <array>

namespace cmcp {
namespace {

enum class match { no, part, whole };

/// A character, or all, of a form in the text: how much of the text it takes.
struct spelled {
    match is = match::no;
    std::size_t size = 0;
};

/// The rest of a text, and whether the whole text ends with it.
struct text_rest {
    std::string_view text;
    bool is_end = false;
};

spelled match_spelling(std::string_view text, std::string_view spelling, bool any_case)
{
    const auto size = std::min(text.size(), spelling.size());
    const auto there = text.substr(0, size), wanted = spelling.substr(0, size);
    if (any_case ? !equal_ignoring_case(there, wanted) : there != wanted) return {};
    return size < spelling.size() ? spelled{match::part, 0} : spelled{match::whole, size};
}

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

/// The longest spelling by which the character stands in URLs, JSON and HTML, where an escape begins the text.
spelled match_escape(std::string_view text, char c)
{
    const std::string digits = hex_text({&c, 1});
    const bool is_escaped_by_itself = c == '"' || c == '\\' || c == '/' || c == '\'';
    const std::array<std::string, 7> spellings{"%" + digits,
                                               "\\u00" + digits,
                                               "\\x" + digits,
                                               is_escaped_by_itself ? std::string{'\\', c} : "%" + digits,
                                               "&#" + std::to_string(static_cast<unsigned char>(c)) + ";",
                                               "&#x" + digits + ";",
                                               std::string(name_in_html(c))};
    spelled best;
    for (const auto& each : spellings) {
        const auto one = match_spelling(text, each, true);
        if (one.is > best.is) best = one;
    }
    return best;
}

spelled match_character(text_rest rest, char c)
{
    const char first = rest.text.front();
    const bool is_it = first == c || (first == '+' && c == ' ');
    if (first != '%' && first != '\\' && first != '&') return is_it ? spelled{match::whole, 1} : spelled{};
    const auto escaped = match_escape(rest.text, c);
    const bool decided = escaped.is == match::whole || (escaped.is == match::part && !rest.is_end);
    if (decided) return escaped;
    return is_it ? spelled{match::whole, 1} : spelled{};
}

constexpr bool ends_line(char c) { return c == '\r' || c == '\n'; }

spelled match_escaped(text_rest rest, const secret_masks::form& of)
{
    std::size_t at = 0;
    for (const char c : of.hidden) {
        while (of.wraps && at > 0 && at < rest.text.size() && ends_line(rest.text[at])) ++at;
        if (at == rest.text.size()) return {match::part, 0};
        const auto one = match_character({rest.text.substr(at), rest.is_end}, c);
        if (one.is != match::whole) return one;
        at += one.size;
    }
    return {match::whole, at};
}

// As it is goes first, because a secret may hold the characters that escape others.
spelled match_form(text_rest rest, const secret_masks::form& of)
{
    const auto plain = match_spelling(rest.text, of.hidden, false);
    if (plain.is == match::whole) return plain;
    const auto escaped = match_escaped(rest, of);
    return escaped.is == match::no ? plain : escaped;
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
    add_form(hex_text(value), hex_text(shown));
    add_form(upper_case(hex_text(value)), upper_case(hex_text(shown)));
    add_form(in_utf16(value), in_utf16(shown));
}

secret_masks::found_form secret_masks::at_beginning_of(std::string_view text, bool is_end) const
{
    found_form best;
    for (const auto& each : forms_) {
        const auto one = match_form({text, is_end}, each);
        best.may_go_on = best.may_go_on || one.is == match::part;
        if (one.is == match::whole && one.size > best.size) {
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
        if (masks_->may_begin_with(rest_[at]))
            form = masks_->at_beginning_of(std::string_view(rest_).substr(at), is_end);
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
