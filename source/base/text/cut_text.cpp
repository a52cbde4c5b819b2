#include "text/cut_text.hpp"

#include "text/number.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::string_view mark_begin = "\n[... ";
constexpr std::string_view mark_middle = " bytes left out here";
constexpr std::string_view mark_where = "; all of it: ";
constexpr std::string_view mark_end = " ...]\n";

}  // namespace

std::string written(const cut_text& text)
{
    if (text.left_out == 0) return text.head;
    std::string all(text.head);
    all.append(mark_begin).append(std::to_string(text.left_out)).append(mark_middle);
    if (!text.where.empty()) all.append(mark_where).append(text.where);
    return all.append(mark_end).append(text.tail);
}

cut_text read_cut_text(std::string_view text)
{
    cut_text whole{std::string(text), {}, 0, {}};
    const auto middle = text.find(mark_middle);
    const auto begin = middle == std::string_view::npos ? middle : text.rfind(mark_begin, middle);
    const auto end = middle == std::string_view::npos ? middle : text.find(mark_end, middle);
    if (begin == std::string_view::npos || end == std::string_view::npos) return whole;
    const auto digits = begin + mark_begin.size();
    const auto left_out = read_number(text.substr(digits, middle - digits));
    if (!left_out) return whole;
    cut_text cut{std::string(text.substr(0, begin)), std::string(text.substr(end + mark_end.size())), *left_out, {}};
    const auto where = text.substr(middle + mark_middle.size(), end - middle - mark_middle.size());
    if (where.starts_with(mark_where)) cut.where = where.substr(mark_where.size());
    return cut;
}

cut_text without_middle(std::string_view text, std::size_t most)
{
    cut_text cut = read_cut_text(text);
    const std::size_t before = cut.head.size() + cut.tail.size();
    if (before <= most) return cut;
    if (cut.left_out == 0) cut.tail = cut.head;
    cut.head = utf8_prefix(cut.head, most / 2);
    cut.tail = utf8_suffix(cut.tail, most - most / 2);
    cut.left_out += before - cut.head.size() - cut.tail.size();
    return cut;
}

}  // namespace cmcp
