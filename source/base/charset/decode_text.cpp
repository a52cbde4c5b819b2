#include "charset/decode_text.hpp"

#include "charset/guess_charset.hpp"
#include "text/ascii.hpp"
#include "text/charset.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace cmcp {
namespace {

constexpr std::string_view around_a_label = " \t\r\n\f\"'";
constexpr std::string_view replacement = "\xef\xbf\xbd";

constexpr std::size_t looked_at = 1024;

struct charset_row {
    const char* name;         // of iconv
    std::string_view labels;  // of the WHATWG Encoding standard
};

constexpr charset_row rows[] = {
    {"UTF-8", "utf-8 utf8 unicode-1-1-utf-8 utf8mb4 utf_8"},
    {"UTF-16LE", "utf-16 utf-16le"},
    {"UTF-16BE", "utf-16be"},
    {"WINDOWS-1252", "ascii us-ascii latin1 l1 iso-8859-1 iso8859-1 iso_8859-1"},
    {"ISO-8859-2", "latin2"},
    {"WINDOWS-1254", "latin5 iso-8859-9"},
    {"ISO-8859-8", "iso-8859-8-i"},
    {"CP874", "tis-620 iso-8859-11 windows-874"},
    {"KOI8-R", "koi8-r koi8"},
    {"KOI8-U", "koi8-u"},
    {"MACINTOSH", "macintosh"},
    {"MAC-CYRILLIC", "x-mac-cyrillic"},
    {"CP866", "ibm866 cp866"},
    {"GB18030", "gb2312 gbk x-gbk gb18030 gb_2312-80 cp936 windows-936"},
    {"BIG5-HKSCS", "big5 big5-hkscs x-x-big5"},
    {"EUC-JP", "euc-jp x-euc-jp"},
    {"ISO-2022-JP", "iso-2022-jp"},
    {"CP932", "shift_jis shift-jis sjis x-sjis windows-31j ms932"},
    {"CP949", "euc-kr ks_c_5601-1987 korean windows-949"},
};
constexpr std::string_view iso_parts = "2 3 4 5 6 7 8 10 13 14 15 16";
constexpr std::string_view windows_pages = "1250 1251 1252 1253 1254 1255 1256 1257 1258";
constexpr std::string_view of_several_bytes =
    "UTF-8 UTF-16LE UTF-16BE GB18030 BIG5-HKSCS EUC-JP ISO-2022-JP CP932 CP949";

// The name that iconv has for a label; empty: no such label is known.
std::string name_of(std::string_view label)
{
    for (const auto& row : rows)
        if (is_word_of(row.labels, label)) return row.name;
    for (const std::string_view start : {"iso-8859-", "iso8859-", "iso_8859-"})
        if (label.starts_with(start) && is_word_of(iso_parts, label.substr(start.size())))
            return "ISO-8859-" + std::string(label.substr(start.size()));
    for (const std::string_view start : {"windows-", "cp", "x-cp"})
        if (label.starts_with(start) && is_word_of(windows_pages, label.substr(start.size())))
            return "WINDOWS-" + std::string(label.substr(start.size()));
    return {};
}

std::optional<std::string> known(std::string_view label)
{
    std::string name = name_of(lower_case(trimmed(label, around_a_label)));
    if (name.empty() || !charset_converter("UTF-8", name).usable()) return std::nullopt;
    return name;
}

std::string_view value_behind(std::string_view text)
{
    const auto begin = text.find_first_not_of(" \t\r\n=\"'");
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    return text.substr(0, text.find_first_of(" \t\r\n\"'>;/?"));
}

// charset=… of <meta charset> and <meta http-equiv content>, or encoding=… of an XML declaration.
std::string_view declared(std::string_view bytes)
{
    const std::string start = lower_case(bytes.substr(0, looked_at));
    const std::string_view all = bytes.substr(0, looked_at);
    std::size_t at = std::string::npos;
    std::size_t length = 0;
    if (start.starts_with("<?xml")) {
        at = start.find("encoding");
        length = 8;
        if (at > start.find("?>")) at = std::string::npos;
    }
    for (std::size_t tag = start.find("<meta"); at == std::string::npos && tag != std::string::npos;
         tag = start.find("<meta", tag + 1)) {
        const std::size_t attribute = start.find("charset", tag);
        if (attribute < start.find('>', tag)) at = attribute;
        length = 7;
    }
    return at == std::string::npos ? std::string_view() : value_behind(all.substr(at + length));
}

std::string_view language_of_page(std::string_view bytes)
{
    const std::string start = lower_case(bytes.substr(0, looked_at));
    const auto tag = start.find("<html");
    if (tag == std::string::npos) return {};
    const auto at = start.find("lang=", tag);
    return at < start.find('>', tag) ? value_behind(bytes.substr(at + 5)) : std::string_view();
}

std::string shown(std::string_view label) { return std::string(trimmed(label, around_a_label).substr(0, 40)); }

struct marked {
    std::string name;
    std::size_t length;  // of the byte order mark
};

std::optional<marked> by_mark(std::string_view bytes)
{
    if (bytes.starts_with("\xef\xbb\xbf")) return marked{"UTF-8", 3};
    if (bytes.starts_with("\xff\xfe")) return marked{"UTF-16LE", 2};
    if (bytes.starts_with("\xfe\xff")) return marked{"UTF-16BE", 2};
    return std::nullopt;
}

struct conversion {
    std::string text;
    std::size_t lost = 0;    // bytes that became U+FFFD
    std::size_t others = 0;  // characters beyond ASCII
};

conversion convert(std::string_view bytes, const std::string& name)
{
    const charset_converter converts("UTF-8", name);
    if (!converts.usable()) throw std::runtime_error("iconv knows no " + name);
    conversion done;
    done.text.reserve(bytes.size() + bytes.size() / 8);
    while (converts.convert(bytes, done.text) != 0) {
        done.text += replacement;
        ++done.lost;
        bytes.remove_prefix(1);
    }
    const auto begins = [](char c) { return static_cast<unsigned char>(c) >= 0xc0; };
    done.others = static_cast<std::size_t>(std::count_if(done.text.begin(), done.text.end(), begins)) - done.lost;
    return done;
}

// A few bytes may be damaged; where as many do not fit as do, the text is in another charset.
bool fits(const conversion& done, std::string_view bytes, const std::string& name)
{
    const bool is_cut = done.lost > 0 && done.lost < 4 && is_cut_utf8(bytes.substr(bytes.size() - done.lost));
    // By chance few bytes look like a character of UTF-8.
    const auto most_lost = name == "UTF-8" ? done.others : done.others / 4;
    if (done.lost > most_lost && !is_cut) return false;
    if (name.starts_with("UTF-16")) return bytes.find('\0') != std::string_view::npos || !is_utf8(bytes);
    // UTF-8 read as another charset shows two or three characters for each; by chance no text looks so.
    return done.others == 0 || is_word_of(of_several_bytes, name) || !is_utf8(bytes);
}

converted_text finished(conversion done, std::string name, std::string note)
{
    if (done.lost > 0)
        note += (note.empty() ? "" : " ") + std::to_string(done.lost) + (done.lost == 1 ? " byte is" : " bytes are") +
                " not valid in " + lower_case(name) + " and shown as U+FFFD.";
    return {std::move(done.text), std::move(name), std::move(note)};
}

}  // namespace

converted_text decode_text(std::string_view bytes, std::string_view header_charset, std::string_view language)
{
    if (auto mark = by_mark(bytes)) {
        auto done = convert(bytes.substr(mark->length), mark->name);
        return finished(std::move(done), std::move(mark->name), {});
    }
    struct declaration {
        std::string_view label;
        const char* where;
    };
    std::string problem;
    for (const auto& [label, where] : {declaration{header_charset, "header"}, declaration{declared(bytes), "text"}}) {
        if (trimmed(label, around_a_label).empty()) continue;
        auto name = known(label);
        // Bytes in which an ASCII declaration can be read are no UTF-16.
        if (name && name->starts_with("UTF-16") && std::string_view(where) == "text") name = "UTF-8";
        if (!name && problem.empty())
            problem = "The page declares the charset \"" + shown(label) + "\" in its " + where + ", which is not known";
        if (!name) continue;
        auto done = convert(bytes, *name);
        if (fits(done, bytes, *name)) {
            if (!problem.empty()) problem += "; it was read as " + lower_case(*name) + ", which its text declares.";
            return finished(std::move(done), std::move(*name), std::move(problem));
        }
        if (problem.empty())
            problem = "The page declares the charset \"" + shown(label) + "\" in its " + where +
                      ", but its bytes are not that";
    }
    const auto own = language_of_page(bytes);
    std::string name = guess_charset(bytes, own.empty() ? language : own);
    auto done = convert(bytes, name);
    const bool certain = name == "UTF-8";
    if (!problem.empty())
        problem += "; it was read as " + lower_case(name) + (certain ? "." : ", which is a guess.");
    else if (!certain)
        problem = "No character encoding is declared: the text was read as " + lower_case(name) + ", which is a guess.";
    return finished(std::move(done), std::move(name), std::move(problem));
}

}  // namespace cmcp
