#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Digits that stand for bytes, as in base64.
struct digit_code {
    std::size_t bits = 0;           ///< of a digit
    std::size_t phases = 0;         ///< the digits at which a byte may begin, modulo this
    std::string_view letters;       ///< by value
    std::string_view other;         ///< the other way to write them, likewise
    std::string_view only_other{};  ///< what stands in that one alone
};
extern const digit_code base64_digits, base32_digits, hexadecimal_digits;

/// A text as it is meant: what an answer says, or what another one says without escape sequences, as bytes for digits,
/// and so on. Knows where in the answer each of its bytes comes from. `of` must outlive it.
struct decoded_text {
    struct span {
        std::size_t begin = 0, end = 0;
    };

    std::string text;
    const decoded_text* of = nullptr;    ///< null: the answer itself
    std::size_t from = 0;                ///< where it begins in `of`
    std::vector<std::uint32_t> at{};     ///< where each of its bytes begins in `of`; empty: one after another
    std::size_t whole = 0;               ///< with `at`: where the last one ends; 0: each is one byte there
    const digit_code* digits = nullptr;  ///< by which `of` writes it
    bool has_lines_of_answer = false;    ///< a line end in it may be one of the answer

    span in_answer(std::size_t first, std::size_t last) const;  ///< of at least one byte
    std::size_t beginning_in_answer(std::size_t byte) const { return in_answer(byte, byte + 1).begin; }
    const decoded_text& answer() const { return of == nullptr ? *this : of->answer(); }
};

/// Whether it may stand in a form of a value.
constexpr bool is_visible(char c) { return c >= ' ' && c <= '~'; }
bool is_base64_digit(char c);

/// `in` without its escape sequences. False: it has none. Line ends of the answer itself are none in `out`, because
/// forms with escape sequences have none.
bool without_escapes(const decoded_text& in, decoded_text& out);

/// The rows of at least `least` characters in UTF-16 or UTF-32, without the zero bytes between them.
std::vector<decoded_text> rows_of_wide_characters(const decoded_text& in, std::size_t least);

/// The rows of at least `least` digits of base64 in `in`, which may have line ends between them, each with blanks
/// behind it.
std::vector<decoded_text> rows_of_base64(const decoded_text& in, std::size_t least);

/// The rows of at least `least` hexadecimal digits in pairs with a mark between them, as in 2b:2f.
std::vector<decoded_text> rows_of_pairs(const decoded_text& in, std::size_t least);

/// The parts of a row that are digits of `code` alone, of at least `least`.
std::vector<decoded_text> parts_of_row(const decoded_text& row, const digit_code& code, std::size_t least);

/// The values of the digits of a row.
std::string values_in_row(const decoded_text& row, const digit_code& code);

/// The bytes of a row of digits with these values, the first of which begins at a digit.
decoded_text bytes_of_digits(const decoded_text& row, std::string_view values, const digit_code& code,
                             std::size_t first_digit);

/// The parts of at least `least` bytes that may stand in a form of a value.
std::vector<decoded_text> readable_parts(const decoded_text& in, std::size_t least);

}  // namespace cmcp
