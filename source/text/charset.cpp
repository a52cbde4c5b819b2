#include "text/charset.hpp"
#include "text/ascii.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>

namespace cmcp {
namespace {

constexpr std::string_view around_a_label = " \t\r\n\f\"'";

constexpr std::size_t looked_at = 1024;

struct charset_row {
    const char* name;         // of iconv
    std::string_view labels;  // of the WHATWG Encoding standard
};

constexpr charset_row rows[] = {
    {"UTF-8", "utf-8 utf8 unicode-1-1-utf-8"},
    {"UTF-16LE", "utf-16 utf-16le"},
    {"UTF-16BE", "utf-16be"},
    {"WINDOWS-1252", "ascii us-ascii latin1 l1 iso-8859-1 iso8859-1 iso_8859-1"},
    {"ISO-8859-2", "latin2"},
    {"WINDOWS-1254", "latin5 iso-8859-9"},
    {"ISO-8859-8", "iso-8859-8-i"},
    {"WINDOWS-874", "tis-620 iso-8859-11 windows-874"},
    {"KOI8-R", "koi8-r koi8"},
    {"KOI8-U", "koi8-u"},
    {"MACINTOSH", "macintosh"},
    {"MAC-CYRILLIC", "x-mac-cyrillic"},
    {"CP866", "ibm866 cp866"},
    {"GB18030", "gb2312 gbk x-gbk gb18030"},
    {"BIG5-HKSCS", "big5 big5-hkscs"},
    {"EUC-JP", "euc-jp x-euc-jp"},
    {"ISO-2022-JP", "iso-2022-jp"},
    {"CP932", "shift_jis shift-jis sjis x-sjis windows-31j ms932"},
    {"CP949", "euc-kr ks_c_5601-1987 korean windows-949"},
};
constexpr std::string_view iso_parts = "2 3 4 5 6 7 8 10 13 14 15 16";
constexpr std::string_view windows_pages = "1250 1251 1252 1253 1254 1255 1256 1257 1258";

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

bool may_be_utf8(std::string_view bytes)
{
    bytes.remove_prefix(valid_utf8_length(bytes));
    return bytes.empty() || is_cut_utf8(bytes);
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
    if (at == std::string::npos) return {};
    std::string_view rest = all.substr(at + length);
    const auto begin = rest.find_first_not_of(" \t\r\n=\"'");
    if (begin == std::string_view::npos) return {};
    rest.remove_prefix(begin);
    return rest.substr(0, rest.find_first_of(" \t\r\n\"'>;/?"));
}

std::string unknown(std::string_view label, const char* where)
{
    return std::string("The page declares the charset \"") + std::string(trimmed(label, around_a_label).substr(0, 40)) +
           "\" " + where + ", which is not known";
}

std::optional<charset_choice> by_mark(std::string_view bytes)
{
    if (bytes.starts_with("\xef\xbb\xbf")) return charset_choice{"UTF-8", {}, 3};
    if (bytes.starts_with("\xff\xfe")) return charset_choice{"UTF-16LE", {}, 2};
    if (bytes.starts_with("\xfe\xff")) return charset_choice{"UTF-16BE", {}, 2};
    return std::nullopt;
}

}  // namespace

charset_converter::charset_converter(const std::string& to, const std::string& from)
    : handle_(::iconv_open(to.c_str(), from.c_str()))
{
}

charset_converter::~charset_converter()
{
    if (usable()) ::iconv_close(handle_);
}

int charset_converter::convert(std::string_view& input, std::string& output) const
{
    std::array<char, 32768> piece;
    char* in = const_cast<char*>(input.data());  // iconv's interface; the input is not changed
    std::size_t left = input.size();
    int error = E2BIG;
    while (error == E2BIG) {
        char* out = piece.data();
        std::size_t room = piece.size();
        error = ::iconv(handle_, &in, &left, &out, &room) == static_cast<std::size_t>(-1) ? errno : 0;
        output.append(piece.data(), piece.size() - room);
    }
    input.remove_prefix(input.size() - left);
    return error;
}

bool is_word_of(std::string_view list, std::string_view word)
{
    const std::string wanted = " " + std::string(word) + " ";
    return wanted.find(' ', 1) == wanted.size() - 1 &&
           (" " + std::string(list) + " ").find(wanted) != std::string::npos;
}

charset_choice choose_charset(std::string_view bytes, std::string_view header_charset)
{
    if (auto marked = by_mark(bytes)) return *marked;
    std::string note;
    if (!trimmed(header_charset, around_a_label).empty()) {
        if (auto name = known(header_charset)) return {*name, {}, 0};
        note = unknown(header_charset, "in its header");
    }
    if (const auto label = declared(bytes); !label.empty()) {
        auto name = known(label);
        // Bytes in which an ASCII declaration can be read are no UTF-16.
        if (name && name->starts_with("UTF-16")) name = "UTF-8";
        if (name) return {*name, note.empty() ? note : note + "; it was read as " + *name + ".", 0};
        if (note.empty()) note = unknown(label, "in its text");
    }
    const std::string name = may_be_utf8(bytes) ? "UTF-8" : "WINDOWS-1252";
    return {name, note.empty() ? note : note + "; it was read as " + name + ".", 0};
}

std::string to_utf8(std::string_view bytes, const charset_choice& choice)
{
    const charset_converter converts("UTF-8", choice.name);
    if (!converts.usable()) throw std::runtime_error("iconv knows no " + choice.name);
    bytes.remove_prefix(std::min(choice.skip, bytes.size()));
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 8);
    while (converts.convert(bytes, text) != 0) {
        text += "\xef\xbf\xbd";
        bytes.remove_prefix(1);
    }
    return text;
}

}  // namespace cmcp
