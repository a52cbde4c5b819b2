#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A change of a text: a part of it, to the letter, and what replaces it.
struct text_edit {
    std::string old_text;
    std::string new_text;
    bool replace_all = false;  ///< else the old text occurs only once
};

struct edited_text {
    std::string text;
    std::size_t replaced = 0;  ///< occurrences
};

/// The text after all edits, in their order; each is applied to what the ones before it made. A text with one kind of
/// line ending keeps it, whichever kind the edits have. Throws file_error, which names the edit and the lines, when an
/// edit does not fit.
edited_text with_edits(std::string text, const std::vector<text_edit>& edits);

/// How the lines of a text end.
enum class line_ending { lf, crlf, mixed };

/// with_edits() edit by edit: each step takes time linear in the text, and a caller may send many of them for a large
/// one. `edits` must outlive this.
class edits_in_steps {
public:
    edits_in_steps(std::string text, const std::vector<text_edit>& edits);
    bool done() const { return next_ == edits_.size(); }
    void step();
    edited_text result() && { return std::move(result_); }

private:
    const std::vector<text_edit>& edits_;
    line_ending ending_;
    edited_text result_;
    std::size_t next_ = 0;
};

/// Where a text that is not found would belong: the lines that come nearest, and how they differ. A sentence.
std::string nearest_match(std::string_view text, std::string_view wanted);

}  // namespace cmcp
