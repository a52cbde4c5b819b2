#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Makes handles `<kind>_<node>_<32 hex>` with 128 random bits, so that nobody guesses a handle.
class handle_maker {
public:
    /// `node`: the machine's name, see node_name().
    explicit handle_maker(std::string_view node);

    /// A name as handles hold it: at most 32 lower-case letters and digits, '-' for other characters; "node" for an
    /// empty name.
    static std::string cleaned(std::string_view name);

    std::string make(std::string_view kind) const;
    const std::string& node() const { return node_; }

    /// Whether the text has the form of a handle of this kind (of any node). Only such text becomes a file name.
    static bool fits(std::string_view kind, std::string_view text);

    /// Whether it is the handle of a sandbox, which may go from node to node.
    static bool may_move(std::string_view text) { return fits("sbx", text); }

    /// The node that a handle of any kind names, as a part of `text`; empty when the text is no handle.
    static std::string_view node_of(std::string_view text);

private:
    std::string node_;
};

}  // namespace cmcp
