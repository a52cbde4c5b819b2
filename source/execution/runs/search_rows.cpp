#include "runs/search_rows.hpp"

#include "jsonrpc/json_size.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_line = 400;  // bytes

constexpr std::size_t before_match = 100;  // of them, where the line is cut

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// A long line is cut so that the match, which begins at `match`, is shown.
std::string shown_line(std::string_view bytes, std::size_t match)
{
    if (bytes.ends_with('\r')) bytes.remove_suffix(1);
    std::size_t begin = 0;
    if (bytes.size() > longest_line && match > longest_line - before_match && match <= bytes.size()) {
        begin = match - before_match;
        while (begin < match && continues_character(bytes[begin])) ++begin;
    }
    bytes.remove_prefix(begin);
    const auto text = replace_invalid_utf8(bytes.substr(0, 2 * longest_line));
    const auto part = utf8_prefix(text, longest_line);
    const bool is_cut = part.size() < bytes.size() && part.size() < text.size();
    return (begin != 0 ? "… " : "") + std::string(part) + (is_cut ? " …" : "");
}

// Takes "12:" off; nothing where there is no number.
std::optional<std::size_t> take_column(std::string_view& text)
{
    std::size_t column = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), column);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (problem != std::errc() || length == text.size() || text[length] != ':') return std::nullopt;
    text.remove_prefix(length + 1);
    return column;
}

struct printed_row {
    std::string_view path;
    search_row row;
};

// Nothing where the line is none of a file: a gap, or a message.
bool read_row(std::string_view line, bool columns, printed_row& into)
{
    const auto end_of_path = line.find('\0');
    if (end_of_path == std::string_view::npos) return false;
    const auto rest = line.substr(end_of_path + 1);
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || digits == rest.size() || (rest[digits] != ':' && rest[digits] != '-')) return false;
    into.path = line.substr(0, end_of_path);
    while (into.path.starts_with("./")) into.path.remove_prefix(2);
    const bool matches = rest[digits] == ':';
    auto text = rest.substr(digits + 1);
    const auto column = columns && matches ? take_column(text) : std::nullopt;
    into.row = {std::string(rest.substr(0, digits)), shown_line(text, column.value_or(1) - 1), matches, false};
    return true;
}

void add_row(std::vector<rows_of_file>& files, printed_row&& printed, bool gap)
{
    if (files.empty() || files.back().path != printed.path) files.push_back({std::string(printed.path), {}});
    auto& rows = files.back().rows;
    printed.row.after_gap = gap && !rows.empty();
    rows.push_back(std::move(printed.row));
}

std::string written(const std::string& path, const search_row& row)
{
    const char mark = row.matches ? ':' : '-';
    return escape_invalid_utf8(path) + mark + row.line + mark + ' ' + row.text + '\n';
}

// A match with the lines before it, and the last one of a group also with those behind it.
struct match_part {
    std::string text;
    bool begins_group;
};

std::vector<match_part> parts_of(const rows_of_file& file)
{
    std::vector<match_part> parts;
    std::string around;
    bool begins = true;
    const auto end_group = [&] {
        if (!parts.empty()) parts.back().text += around;
        around.clear();
        begins = true;
    };
    for (const auto& row : file.rows) {
        if (row.after_gap) end_group();
        around += written(file.path, row);
        if (!row.matches) continue;
        parts.push_back({std::exchange(around, {}), begins});
        begins = false;
    }
    end_group();
    return parts;
}

bool has_surroundings(const rows_of_file& file)
{
    return std::ranges::any_of(file.rows, [](const auto& row) { return !row.matches; });
}

}  // namespace

std::vector<rows_of_file> read_search(std::string_view printed,
                                      const std::function<bool(std::string_view path)>& wanted, bool columns)
{
    std::vector<rows_of_file> files;
    bool gap = false;
    for (auto end = printed.find('\n'); end != std::string_view::npos; end = printed.find('\n')) {
        printed_row row;
        const bool is_row = read_row(printed.substr(0, end), columns, row);
        printed.remove_prefix(end + 1);
        if (is_row && wanted(row.path)) add_row(files, std::move(row), gap);
        gap = !is_row;
    }
    std::ranges::stable_sort(files, {}, &rows_of_file::path);
    return files;
}

search_page page_of(const std::vector<rows_of_file>& all, std::size_t offset, std::size_t limit, std::size_t room)
{
    const bool gaps = std::ranges::any_of(all, has_surroundings);
    search_page page;
    std::size_t used = 0;
    bool full = false;
    for (const auto& file : all) {
        const auto parts = parts_of(file);
        if (!parts.empty()) ++page.files;
        for (const auto& part : parts) {
            if (page.matches++ < offset || full) continue;
            const auto lines = (gaps && part.begins_group && page.shown > 0 ? "--\n" : "") + part.text;
            used += jsonrpc::json_size(lines);
            full = page.shown == limit || (page.shown > 0 && used > room);
            if (full) continue;
            page.text += lines;
            ++page.shown;
        }
    }
    return page;
}

}  // namespace cmcp
