#pragma once

#include "egress/held_secret.hpp"

#include <bitset>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The forms in which secrets may come back: as they are, with characters escaped as in URLs, JSON and HTML, as base64
/// of any text around them, as hexadecimal digits, and in UTF-16. A mask is as long as what it hides, so that lengths
/// and frames around it stay true: the placeholder where that is as long, else cut or filled up with '*'.
class secret_masks {
public:
    void add(const held_secret& secret);
    bool empty() const { return forms_.empty(); }

    std::string masked(std::string_view whole) const;

    struct form {
        std::string hidden, shown;
        bool wraps = false;  ///< base64, which may have ends of lines within
    };

    /// The form at the beginning of a text.
    struct found_form {
        std::size_t size = 0;      ///< bytes of the longest form; 0: none
        const form* of = nullptr;  ///< that one
        bool may_go_on = false;    ///< a form, or a longer one, may be cut off at the end of the text
    };
    found_form at_beginning_of(std::string_view text) const;
    bool may_begin_with(char c) const { return beginnings_[static_cast<unsigned char>(c)]; }
    static std::string mask_of(const form& of, std::size_t size);

private:
    void add_form(std::string hidden, const std::string& shown, bool wraps = false);

    std::vector<form> forms_;
    std::bitset<256> beginnings_;
};

/// Masks a body that comes in pieces; a form may begin in one piece and end in another one.
class stream_mask {
public:
    explicit stream_mask(std::shared_ptr<const secret_masks> masks) : masks_(std::move(masks)) {}

    std::string feed(std::string_view piece);  ///< all that is certain by now
    std::string finish();                      ///< the rest

private:
    std::string take(bool is_end);

    std::shared_ptr<const secret_masks> masks_;  ///< null: nothing is masked
    std::string rest_;
};

}  // namespace cmcp
