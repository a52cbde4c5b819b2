#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A line that a search printed.
struct search_row {
    std::string line;  ///< its number
    std::string text;  ///< valid UTF-8, cut where it is long
    bool matches;      ///< else it stands around a match
    bool after_gap;    ///< lines are left out before it
};

struct rows_of_file {
    std::string path;
    std::vector<search_row> rows;
};

/// Reads what grep and ripgrep print with -n --null: `path NUL 12:text`, `path NUL 13-text` around it, `--` for a gap.
/// Files for which `wanted` is false are left out, the others sorted by path. A last line that is cut off is dropped.
/// `columns`: ripgrep was given --column, `path NUL 12:7:text`; a long line is shown around its match.
std::vector<rows_of_file> read_search(std::string_view printed,
                                      const std::function<bool(std::string_view path)>& wanted, bool columns = false);

/// Matches [offset, offset + limit) with the lines around them, as `path:12: text` and `path-13- text`.
struct search_page {
    std::string text;
    std::size_t matches = 0;  ///< of all pages
    std::size_t files = 0;    ///< with a match
    std::size_t shown = 0;    ///< matches on this page
};

/// A page whose JSON has at most `room` bytes, but at least one match.
search_page page_of(const std::vector<rows_of_file>& files, std::size_t offset, std::size_t limit, std::size_t room);

}  // namespace cmcp
