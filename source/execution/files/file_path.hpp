#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// A path that a caller gave, as text for the kernel: nothing is decoded, expanded or cleaned, so that only the kernel
/// decides what it means. Paths are relative to the working folder of a sandbox, which leading slashes mean, too, and
/// so does "~", because HOME is there for the programs that run in it; "file:///a" is "/a".
class file_path {
public:
    /// Throws file_error that names `field`: empty, NUL, longer than 4096 bytes, not UTF-8, another URI, a path of
    /// Windows ("C:\\a").
    file_path(std::string_view field, std::string_view text);

    const std::string& field() const { return field_; }
    const std::string& text() const { return text_; }          ///< as the caller wrote it
    const std::string& relative() const { return relative_; }  ///< never empty ("." is the root), no leading slash
    bool absolute() const { return text_.front() == '/'; }
    bool trailing_slash() const { return relative_.back() == '/'; }

    /// The last component and all before it ("." when there is none). The last one is the entry to act on:
    /// throws file_error when it is "." or "..", or when the path is the root.
    std::string leaf() const;
    std::string parent() const;

    /// Relative, without trailing slashes and leading "./"; empty for the root. The paths of its entries begin with it.
    std::string display() const;

    [[noreturn]] void refuse(std::string_view sentence) const;  ///< throws file_error: `field "path" sentence`
    [[noreturn]] void fail(int error) const;  ///< the same for an errno value; file_missing for ENOENT

private:
    std::string_view without_trailing_slashes() const;

    std::string field_;
    std::string text_;
    std::string relative_;
};

/// A path without "~" in front where that means the home folder; "./~" is a file of this name.
std::string_view below_home(std::string_view path);

/// "/a" of "file:///a", of which nothing is decoded; any other text as it is.
std::string_view without_file_scheme(std::string_view text);

/// The path in quotation marks for a sentence, cut when it is long.
std::string quote_path(std::string_view path);

}  // namespace cmcp
