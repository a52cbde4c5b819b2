#pragma once

#include "egress/held_secret.hpp"
#include "egress/value_automaton.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The forms in which secrets may come back: as they are, with characters escaped as in URLs, JSON and HTML, as digits
/// of base64, base32 or hexadecimal for any text around them, and in UTF-16 and UTF-32, one within another to a bounded
/// depth. A mask is as long as what it hides, so that lengths and frames around it stay true: the placeholder where
/// that is as long, else cut or filled up with '*'. The work depends on the text and on the lengths of the values
/// alone.
class secret_masks {
public:
    explicit secret_masks(const std::vector<held_secret>& secrets);

    /// A form of a value in a text.
    struct form {
        std::size_t begin = 0, end = 0;
        std::string shown;          ///< instead of it, as long
        bool is_in_digits = false;  ///< `shown` keeps what stands beside the value in its digits
    };
    struct found_forms {
        std::vector<form> all;  ///< by where they begin, the longest of a beginning first; they may overlap
        std::size_t cut = 0;    ///< the last position up to `most` at which no escape sequence is cut
    };
    found_forms find(std::string_view text, std::size_t most = 0) const;

    std::string masked(std::string_view whole) const;

    /// No form is longer. It depends on the length of the longest value alone.
    std::size_t longest_form() const { return longest_form_; }

    /// Puts the mask of a form into the text that it was found in; `is_masked` has the bytes that are masks already.
    static void put(const form& of, std::string& text, std::string& is_masked);

private:
    class search;

    struct hidden_value {
        std::string shown;  ///< as long
        std::size_t size = 0;
    };
    value_automaton automaton_;
    std::vector<hidden_value> values_;  ///< by their number in the automaton
    std::size_t longest_form_ = 0;
    std::size_t least_size_ = 0;  ///< of a value in any form; depends on lengths alone
};

}  // namespace cmcp
