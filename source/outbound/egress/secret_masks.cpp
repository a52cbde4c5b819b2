#include "egress/secret_masks.hpp"

#include "egress/decoded_text.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t shortest_value = 8;
constexpr std::size_t most_escapes = 4;  // one within another: three in a URL, and one around
constexpr std::size_t most_digits = 2;

std::string fitted(std::string mask, std::size_t size)
{
    mask.resize(size, '*');
    return mask;
}

// A value may look like an escape sequence itself, which goes when the text around it is decoded.
std::vector<std::string> ways_to_read(const std::string& value)
{
    std::vector<std::string> ways{value};
    decoded_text in;
    in.text = value;
    for (std::size_t i = 0; i < most_escapes; ++i) {
        decoded_text out;
        if (!without_escapes(in, out)) break;
        ways.push_back(out.text);
        in = decoded_text();
        in.text = ways.back();
    }
    return ways;
}

constexpr bool stays_in_mask(char c) { return c == '\0' || c == '\r' || c == '\n'; }

// The ends of lines and the zero bytes of UTF-16 stay, so that the text around the mask can be read.
std::string laid_over(std::string_view hidden, const std::string& mask)
{
    std::string shown(hidden);
    std::size_t next = 0;
    for (char& c : shown)
        if (!stays_in_mask(c)) c = next < mask.size() ? mask[next++] : '*';
    return shown;
}

// The bits beside the value in its first and last digit stay.
std::string written_in_digits(const decoded_text& bytes, std::size_t first, const std::string& mask,
                              std::string_view hidden)
{
    const auto& code = *bytes.digits;
    const bool is_other = hidden.find_first_of(code.only_other) != std::string_view::npos;
    const auto letters = is_other ? code.other : code.letters;
    std::string shown(hidden);
    std::vector<std::size_t> digits_at;
    for (std::size_t at = 0; at < hidden.size(); ++at)
        if (code.letters.find(hidden[at]) != std::string_view::npos ||
            code.other.find(hidden[at]) != std::string_view::npos)
            digits_at.push_back(at);
    const std::size_t first_bit = first * 8 % code.bits;
    for (std::size_t bit = 0; bit < mask.size() * 8; ++bit) {
        const auto digit = (first_bit + bit) / code.bits, in_digit = code.bits - 1 - (first_bit + bit) % code.bits;
        if (digit >= digits_at.size()) break;
        char& c = shown[digits_at[digit]];
        auto value = code.letters.find(c);
        if (value == std::string_view::npos) value = code.other.find(c);
        const bool is_set = (static_cast<unsigned char>(mask[bit / 8]) >> (7 - bit % 8) & 1) != 0;
        value = (value & ~(std::size_t{1} << in_digit)) | (std::size_t{is_set} << in_digit);
        c = letters[value];
    }
    return shown;
}

}  // namespace

/// Looks at a text, and at what it means, for values.
class secret_masks::search {
public:
    search(const secret_masks& of, std::string_view text, std::size_t most) : of_(of), most_(most)
    {
        answer_.text = text;
        answer_.has_lines_of_answer = true;
    }

    found_forms run()
    {
        scan(answer_, {});
        std::ranges::sort(result_.all, [](const form& a, const form& b) {
            return std::tuple(a.begin, b.end, b.is_in_digits, a.shown) <
                   std::tuple(b.begin, a.end, a.is_in_digits, b.shown);
        });
        return std::move(result_);
    }

private:
    struct limits {
        std::size_t escapes = most_escapes, digits = most_digits;
        bool zeros = true;
        bool only_escapes = true;  ///< nothing else has been decoded
    };

    void scan(const decoded_text& in, limits left)
    {
        std::vector<last_form> last;
        of_.automaton_.search(in.text, [&](std::uint32_t value, std::size_t end) { note(in, value, end, last); });
        decoded_text plain;
        const bool has_escapes = left.escapes > 0 && without_escapes(in, plain);
        if (has_escapes) {
            auto less = left;
            --less.escapes;
            scan(plain, less);
            look_into_escapes(plain);
        } else if (left.only_escapes) {
            result_.cut = cut_in(in);
        }
        left.only_escapes = false;
        if (left.zeros)
            for (const auto& row : rows_of_wide_characters(in, of_.least_size_)) {
                auto less = left;
                less.zeros = false;
                scan(row, less);
            }
        if (left.digits > 0) look_at_digits(in, left);
    }

    // Text in front of a value may end with the beginning of an escape sequence, to which the value's first characters
    // belong when it is decoded: "%" in front of "ab\/c".
    void look_into_escapes(const decoded_text& in)
    {
        const std::string_view before = in.of->text;
        const auto end_of = [&](std::size_t byte) {
            return byte + 1 < in.at.size() ? std::size_t{in.at[byte + 1]} : in.whole;
        };
        const auto rest_of_sequence = [&](std::size_t byte) {
            return before.substr(in.at[byte] + 1, end_of(byte) - in.at[byte] - 1);
        };
        of_.automaton_.search_other_ways(
            in.text, rest_of_sequence, [&](std::uint32_t number, std::size_t end, std::size_t from) {
                const auto& value = of_.values_[number];
                const auto behind = end - from - 1;
                if (behind == 0 || behind >= value.size || value.size - behind >= end_of(from) - in.at[from]) return;
                const auto span = in.of->in_answer(end_of(from) - (value.size - behind), end_of(end - 1));
                if (span.end - span.begin > of_.longest_form_) return;
                const auto hidden = std::string_view(answer_.text).substr(span.begin, span.end - span.begin);
                result_.all.push_back({span.begin, span.end, laid_over(hidden, value.shown)});
            });
    }

    void look_at_digits(const decoded_text& in, limits left)
    {
        --left.digits;
        for (const auto& row : rows_of_base64(in, least(base64_digits))) {
            decode(row, base64_digits, left);
            for (const auto& part : parts_of_row(row, hexadecimal_digits, least(hexadecimal_digits)))
                decode(part, hexadecimal_digits, left);
            for (const auto& part : parts_of_row(row, base32_digits, least(base32_digits)))
                decode(part, base32_digits, left);
        }
        for (const auto& row : rows_of_pairs(in, least(hexadecimal_digits))) decode(row, hexadecimal_digits, left);
    }

    void decode(const decoded_text& row, const digit_code& code, limits left)
    {
        const auto values = values_in_row(row, code);
        for (std::size_t phase = 0; phase < code.phases; ++phase) {
            const auto bytes = bytes_of_digits(row, values, code, phase);
            for (const auto& part : readable_parts(bytes, of_.least_size_)) scan(part, left);
        }
    }

    // Digits that a value has at least.
    std::size_t least(const digit_code& code) const { return (of_.least_size_ * 8 + code.bits - 1) / code.bits; }

    /// Of a value in a text, by its number among all.
    struct last_form {
        std::size_t end = 0, number = 0;
    };

    // A form that overlaps the one before it makes that one longer.
    void note(const decoded_text& in, std::uint32_t number, std::size_t end, std::vector<last_form>& last)
    {
        const auto& value = of_.values_[number];
        const auto first = end - value.size;
        const auto span = in.in_answer(first, end);
        if (span.end - span.begin > of_.longest_form_) return;
        last.resize(of_.values_.size());
        auto& before = last[number];
        const auto from = std::max(span.begin, before.end);
        const auto hidden = std::string_view(answer_.text).substr(from, span.end - from);
        if (from > span.begin) {
            auto& longer = result_.all[before.number];
            longer.shown += laid_over(hidden, {});
            before.end = longer.end = span.end;
            return;
        }
        before = {span.end, result_.all.size()};
        form one{span.begin, span.end, laid_over(hidden, value.shown)};
        write_in_digits(in, first, value.shown, one);
        result_.all.push_back(std::move(one));
    }

    // Digits of the answer itself are digits of the placeholder; other forms have the placeholder as it is.
    void write_in_digits(const decoded_text& in, std::size_t first, const std::string& mask, form& one) const
    {
        const decoded_text* bytes = &in;
        for (; bytes->of != nullptr && bytes->digits == nullptr && bytes->at.empty(); bytes = bytes->of)
            first += bytes->from;
        if (bytes->digits == nullptr || !is_row_of_answer(*bytes->of)) return;
        const auto hidden = std::string_view(answer_.text).substr(one.begin, one.end - one.begin);
        one.shown = written_in_digits(*bytes, first, mask, hidden);
        one.is_in_digits = true;
    }

    bool is_row_of_answer(const decoded_text& row) const
    {
        for (const auto* each = &row; each != &answer_; each = each->of)
            if (each->digits != nullptr || each->whole > 0) return false;
        return true;
    }

    std::size_t cut_in(const decoded_text& in) const
    {
        std::size_t low = 0, high = in.text.size();
        while (low < high) {
            const auto middle = (low + high) / 2;
            if (in.beginning_in_answer(middle) > most_)
                high = middle;
            else
                low = middle + 1;
        }
        return low == 0 ? 0 : in.beginning_in_answer(low - 1);
    }

    const secret_masks& of_;
    const std::size_t most_;
    decoded_text answer_;
    found_forms result_;
};

secret_masks::secret_masks(const std::vector<held_secret>& secrets)
{
    constexpr std::size_t most_of_byte = 48, around = 64;
    std::size_t shortest = std::string::npos, longest = 0;
    for (const auto& each : secrets) {
        shortest = std::min(shortest, each.value.size());
        longest = std::max(longest, each.value.size());
    }
    longest_form_ = longest * most_of_byte + around;
    least_size_ = std::max(std::min(shortest, shortest_value), shortest / 3);
    std::vector<std::string> patterns;
    for (const auto& each : secrets)
        for (const auto& way : ways_to_read(each.value)) {
            if (way.size() < least_size_) continue;
            patterns.push_back(way);
            values_.push_back({fitted(each.placeholder, way.size()), way.size()});
        }
    automaton_ = value_automaton(patterns);
}

secret_masks::found_forms secret_masks::find(std::string_view text, std::size_t most) const
{
    return search(*this, text, most).run();
}

void secret_masks::put(const form& of, std::string& text, std::string& is_masked)
{
    for (std::size_t at = of.begin; const char c : of.shown) {
        if (is_masked[at] == 0) text[at] = c;
        is_masked[at++] = 1;
    }
}

std::string secret_masks::masked(std::string_view whole) const
{
    std::string text(whole), is_masked(whole.size(), 0);
    for (const auto& each : find(whole).all) put(each, text, is_masked);
    return text;
}

}  // namespace cmcp
