#include "files/file_path.hpp"

#include "files/file_error.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

constexpr std::size_t longest_given_path = 4096;
constexpr std::size_t longest_quote = 200;

std::string sentence_for(int error)
{
    switch (error) {
        case EXDEV:
            return "leads outside of the working folder; only files inside it can be used.";
        case ELOOP:
            return "goes through symbolic links that lead nowhere; name the file itself.";
        case ENOTDIR:
            return "goes through something that is not a folder.";
        case EISDIR:
            return "is a folder; name a file in it.";
        case EACCES:
        case EPERM:
            return "cannot be used: its permissions, or those of a folder above it, do not allow it. "
                   "What a run made, a run may change with chmod; name another file otherwise.";
        case ENAMETOOLONG:
            return "holds a name that is too long; a name has at most 255 bytes.";
        case EAGAIN:
            return "is held by a running program (a lease) or is being moved; try again when that has ended.";
        case ENXIO:
            return "is not a regular file.";
        case EROFS:
            return "is on a file system that cannot be written.";
        case ENOSPC:
        case EDQUOT:
            return "cannot be written: no space is left; delete files that are not needed.";
        default:
            return "cannot be used: " + std::generic_category().message(error) + ".";
    }
}

// As a shell reads it: "~anna/x".
bool names_other_home(std::string_view path)
{
    const auto slash = path.find('/');
    if (!path.starts_with('~') || slash == std::string_view::npos || slash < 2) return false;
    const auto user = path.substr(1, slash - 1);
    const auto is_of_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    return std::ranges::all_of(user, is_of_name);
}

// Where the path begins behind "scheme://"; 0: it is no URI. A path that begins so would name a folder "scheme:", which
// nobody means; "./file://x" does.
std::size_t end_of_scheme(std::string_view text)
{
    const auto end = text.find("://");
    const auto is_of_scheme = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
               c == '.';
    };
    if (end == 0 || end == std::string_view::npos) return 0;
    return std::ranges::all_of(text.substr(0, end), is_of_scheme) ? end + 3 : 0;
}

bool is_of_windows(std::string_view text)
{
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return text.size() > 2 && is_letter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/');
}

std::string_view without_scheme(const std::string& name, std::string_view text)
{
    if (is_of_windows(text))
        throw file_error(name + ' ' + quote_path(text) +
                         " is a path of Windows; paths here are below the working folder, as in \"notes/a.txt\".");
    text = without_file_scheme(text);
    const auto begin = end_of_scheme(text);
    if (begin == 0) return text;
    const auto path = text.substr(begin);
    if (text.starts_with("sandbox://"))
        throw file_error(name + ' ' + quote_path(text) + " is the link to a file; give its path, " +
                         quote_path(path.substr(std::min(path.find('/') + 1, path.size()))) +
                         ", and the sandbox as sandbox_id.");
    throw file_error(name + ' ' + quote_path(text) +
                     " is an address, not a path; give a path relative to the working folder, as in \"notes/a.txt\".");
}

}  // namespace

std::string_view below_home(std::string_view path)
{
    return path == "~" || path.starts_with("~/") ? path.substr(1) : path;
}

std::string_view without_file_scheme(std::string_view text)
{
    constexpr std::string_view scheme = "file://";
    const bool is_plain = text.find('%') == std::string_view::npos;
    return is_plain && text.starts_with("file:///") ? text.substr(scheme.size()) : text;
}

std::string quote_path(std::string_view path)
{
    if (path.size() <= longest_quote) return '"' + std::string(path) + '"';
    const auto cut = path.substr(0, longest_quote);
    return '"' + std::string(cut.substr(0, valid_utf8_length(cut))) + "…\"";
}

file_path::file_path(std::string_view field, std::string_view text) : field_(field), text_(text)
{
    const std::string name(field);
    if (text.empty()) throw file_error(name + " is empty; give a path relative to the working folder.");
    if (text.size() > longest_given_path) throw file_error(name + " is longer than 4096 bytes; give a shorter path.");
    if (text.find('\0') != std::string_view::npos) throw file_error(name + " holds a NUL character; leave it out.");
    if (valid_utf8_length(text) != text.size()) throw file_error(name + " is not valid UTF-8.");
    if (names_other_home(text))
        throw file_error(name + ' ' + quote_path(text) +
                         " names another user's home folder, which there is not; \"~/\" is the home folder, and \"./" +
                         quote_path(text).substr(1) + " a folder of that name.");
    text = below_home(without_scheme(name, text));
    const auto begin = text.find_first_not_of('/');
    relative_ = begin == std::string_view::npos ? "." : text.substr(begin);
}

std::string_view file_path::without_trailing_slashes() const
{
    std::string_view path = relative_;
    while (path.back() == '/') path.remove_suffix(1);  // it holds something else: leading slashes are gone
    return path;
}

std::string file_path::leaf() const
{
    auto path = without_trailing_slashes();
    path.remove_prefix(path.rfind('/') + 1);
    if (path == "." || path == "..") refuse("names a folder by \".\" or \"..\" or is the root itself; name the entry.");
    return std::string(path);
}

std::string file_path::parent() const
{
    const auto path = without_trailing_slashes();
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::string file_path::display() const
{
    auto path = without_trailing_slashes();
    while (path.starts_with("./")) {
        path.remove_prefix(2);
        while (path.starts_with('/')) path.remove_prefix(1);
    }
    return path == "." ? std::string() : std::string(path);
}

void file_path::refuse(std::string_view sentence) const
{
    throw file_error(field_ + ' ' + quote_path(text_) + ' ' + std::string(sentence));
}

void file_path::fail(int error) const
{
    if (error != ENOENT) refuse(sentence_for(error));
    const bool of_server = field_ == "local_file_path";
    std::string sentence = of_server ? " does not exist in the server's SANDBOX_UPLOAD_FOLDER; ask who runs the server "
                                       "for its name, or send the bytes in content."
                                     : " does not exist; file_list shows what does.";
    if (absolute() && !of_server)
        sentence +=
            " A leading / means the root of the working folder; other folders, such as /tmp, are read by commands.";
    throw file_missing(field_ + ' ' + quote_path(text_) + sentence);
}

}  // namespace cmcp
