#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// Makes handles `<kind>_<node>_<32 hex>` with 128 random bits: who holds one was given it.
class handle_maker {
public:
    /// `node`: the machine's name, see node_name().
    explicit handle_maker(std::string_view node);

    /// A name as handles hold it: what is no letter or digit becomes '-', at most 32 characters, "node" where it is
    /// empty.
    static std::string cleaned(std::string_view name);

    std::string make(std::string_view kind) const;
    const std::string& node() const { return node_; }

    /// Whether the text has the form of a handle of this kind (of any node). Only such text ever becomes a file name.
    static bool fits(std::string_view kind, std::string_view text);

private:
    std::string node_;
};

}  // namespace cmcp
