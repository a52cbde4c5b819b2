#pragma once

#include "connect/bad_text.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::connect {

/// The YAML text of a file that people edit: entries of one mapping at the top are set and removed, the rest stays as
/// it is. It reads the usual form alone, a line for each member, and refuses others.
class yaml_text {
public:
    /// `mapping`: the member at the top whose entries change. Throws bad_text.
    yaml_text(std::string text, std::string mapping);

    /// The entry with these members. Of one that is there those stay as they are that `managed` does not name. Throws
    /// bad_text.
    void set(const std::string& name, const json::object& members, const std::vector<std::string>& managed);

    /// False: there was no such entry.
    bool remove(const std::string& name);

    std::string text() const;

private:
    struct lines {
        std::size_t first = 0, end = 0;  ///< of lines_
    };

    [[noreturn]] void refuse(std::size_t line, const char* why) const;
    void find_mapping();
    std::size_t indent_of(const lines& of) const;
    std::vector<lines> members_of(const lines& of) const;
    lines entry_named(const std::string& name) const;
    std::string name_at(std::size_t line) const;
    void open_mapping();

    std::vector<std::string> lines_;  // with their ends
    std::string mapping_;
    std::string newline_ = "\n";
    lines found_;  // of the entries; behind its own line
    bool has_mapping_ = false;
};

}  // namespace cmcp::connect
