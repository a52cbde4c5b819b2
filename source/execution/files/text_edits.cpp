#include "files/text_edits.hpp"

#include "files/file_error.hpp"
#include "text/find_text.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t most_lines_listed = 10;

line_ending ending_of(std::string_view text)
{
    std::size_t feeds = 0, pairs = 0;
    for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        ++feeds;
        if (at > 0 && text[at - 1] == '\r') ++pairs;
    }
    if (pairs == 0) return line_ending::lf;
    return pairs == feeds ? line_ending::crlf : line_ending::mixed;
}

std::string with_ending(std::string_view text, line_ending wanted)
{
    if (wanted == line_ending::mixed) return std::string(text);
    std::string converted;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool pair = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
        if (pair) continue;
        if (text[at] == '\n' && wanted == line_ending::crlf) converted += '\r';
        converted += text[at];
    }
    return converted;
}

std::vector<std::size_t> offsets_of(std::string_view text, std::string_view wanted)
{
    std::vector<std::size_t> offsets;
    for (auto at = find_text(text, wanted); at != std::string_view::npos;
         at = find_text(text, wanted, at + wanted.size()))
        offsets.push_back(at);
    return offsets;
}

// "4, 9, 12 and 3 more"
std::string line_numbers(std::string_view text, const std::vector<std::size_t>& offsets)
{
    std::string lines;
    std::size_t line = 1, counted = 0;
    for (std::size_t i = 0; i < std::min(offsets.size(), most_lines_listed); ++i) {
        const auto part = text.substr(counted, offsets[i] - counted);
        line += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
        counted = offsets[i];
        lines += (i == 0 ? "" : ", ") + std::to_string(line);
    }
    if (offsets.size() > most_lines_listed)
        lines += " and " + std::to_string(offsets.size() - most_lines_listed) + " more";
    return lines;
}

[[noreturn]] void refuse(std::size_t number, const std::string& sentence)
{
    throw file_error("edits[" + std::to_string(number) + "]: " + sentence);
}

std::string replaced_at(std::string_view text, const std::vector<std::size_t>& offsets, const text_edit& edit)
{
    std::string changed;
    std::size_t copied = 0;
    for (const auto offset : offsets) {
        changed.append(text.substr(copied, offset - copied)).append(edit.new_text);
        copied = offset + edit.old_text.size();
    }
    return changed.append(text.substr(copied));
}

std::vector<std::size_t> offsets_for(std::string_view text, const text_edit& edit, std::size_t number)
{
    if (edit.old_text.empty()) refuse(number, "old_text is empty; file_write writes a whole file.");
    if (edit.old_text == edit.new_text) refuse(number, "old_text and new_text are the same.");
    auto offsets = offsets_of(text, edit.old_text);
    if (offsets.empty()) refuse(number, "old_text is not found. " + nearest_match(text, edit.old_text));
    if (offsets.size() > 1 && !edit.replace_all)
        refuse(number, "old_text is found " + std::to_string(offsets.size()) + " times, in lines " +
                           line_numbers(text, offsets) +
                           ": add lines around the place that you mean, or set replace_all.");
    return offsets;
}

}  // namespace

edited_text with_edits(std::string text, const std::vector<text_edit>& edits)
{
    edits_in_steps all(std::move(text), edits);
    while (!all.done()) all.step();
    return std::move(all).result();
}

edits_in_steps::edits_in_steps(std::string text, const std::vector<text_edit>& edits)
    : edits_(edits), ending_(ending_of(text))
{
    if (edits.empty()) throw file_error("edits is empty; give at least one edit.");
    result_.text = std::move(text);
}

void edits_in_steps::step()
{
    text_edit edit = edits_[next_];
    edit.old_text = with_ending(edit.old_text, ending_);
    edit.new_text = with_ending(edit.new_text, ending_);
    const auto offsets = offsets_for(result_.text, edit, next_);
    result_.text = replaced_at(result_.text, offsets, edit);
    result_.replaced += offsets.size();
    ++next_;
}

}  // namespace cmcp
