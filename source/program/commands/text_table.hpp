#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::command {

/// A table for people: columns side by side, each as wide as its longest cell. Where the terminal is narrower, the
/// columns that may be cut are, the widest first.
class text_table {
public:
    struct column {
        std::string title;
        bool may_cut = false;
        bool is_number = false;  ///< on the right side
    };

    explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    bool empty() const { return rows_.empty(); }

    /// Lines of at most `width` characters, as far as the columns allow.
    std::string text(std::size_t width) const;

private:
    std::vector<std::size_t> widths(std::size_t most) const;
    std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Whether nothing is cut or shortened: standard output is no terminal (another program reads it), and COLUMNS does not
/// say how wide it is.
bool prints_whole();
std::size_t terminal_width();  ///< of standard output; without a bound where prints_whole()

/// "sbx_…1a2b3c4d": the kind of a long handle and its end, by which it may be named.
std::string short_handle(std::string_view handle);

/// Whether a person's word names the handle: all of it, or its end, also as short_handle() shows it.
bool names_handle(std::string_view word, std::string_view handle);

std::string bytes_text(double bytes);       ///< "1.5 GiB"
std::string duration_text(double seconds);  ///< "2h 5m"

}  // namespace cmcp::command
