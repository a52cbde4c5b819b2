#include "text/charset.hpp"
#include "text/ascii.hpp"
#include "text/utf8_text.hpp"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

namespace cmcp {
namespace {

constexpr std::string_view around_a_label = " \t\r\n\f\"'";

constexpr std::size_t looked_at = 1024;
constexpr std::string_view replacement = "\xef\xbf\xbd";

// Labels of the WHATWG Encoding standard, to the names of iconv.
// NOLINTNEXTLINE(readability-function-size): a table
const std::map<std::string, std::string, std::less<>>& labels()
{
    static const std::map<std::string, std::string, std::less<>> table = [] {
        std::map<std::string, std::string, std::less<>> names{
            {"utf-8", "UTF-8"},
            {"utf8", "UTF-8"},
            {"unicode-1-1-utf-8", "UTF-8"},
            {"utf-16", "UTF-16LE"},
            {"utf-16le", "UTF-16LE"},
            {"utf-16be", "UTF-16BE"},
            {"ascii", "WINDOWS-1252"},
            {"us-ascii", "WINDOWS-1252"},
            {"latin1", "WINDOWS-1252"},
            {"l1", "WINDOWS-1252"},
            {"iso-8859-1", "WINDOWS-1252"},
            {"iso8859-1", "WINDOWS-1252"},
            {"iso_8859-1", "WINDOWS-1252"},
            {"cp1252", "WINDOWS-1252"},
            {"x-cp1252", "WINDOWS-1252"},
            {"latin2", "ISO-8859-2"},
            {"latin5", "WINDOWS-1254"},
            {"iso-8859-9", "WINDOWS-1254"},
            {"iso-8859-8-i", "ISO-8859-8"},
            {"tis-620", "WINDOWS-874"},
            {"iso-8859-11", "WINDOWS-874"},
            {"windows-874", "WINDOWS-874"},
            {"koi8-r", "KOI8-R"},
            {"koi8", "KOI8-R"},
            {"koi8-u", "KOI8-U"},
            {"macintosh", "MACINTOSH"},
            {"x-mac-cyrillic", "MAC-CYRILLIC"},
            {"ibm866", "CP866"},
            {"cp866", "CP866"},
            {"gb2312", "GB18030"},
            {"gbk", "GB18030"},
            {"x-gbk", "GB18030"},
            {"gb18030", "GB18030"},
            {"big5", "BIG5-HKSCS"},
            {"big5-hkscs", "BIG5-HKSCS"},
            {"euc-jp", "EUC-JP"},
            {"x-euc-jp", "EUC-JP"},
            {"iso-2022-jp", "ISO-2022-JP"},
            {"shift_jis", "CP932"},
            {"shift-jis", "CP932"},
            {"sjis", "CP932"},
            {"x-sjis", "CP932"},
            {"windows-31j", "CP932"},
            {"ms932", "CP932"},
            {"euc-kr", "CP949"},
            {"ks_c_5601-1987", "CP949"},
            {"korean", "CP949"},
            {"windows-949", "CP949"},
        };
        for (int part : {2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16}) {
            const std::string name = "8859-" + std::to_string(part);
            for (const char* start : {"iso-", "iso", "iso_"})
                names.emplace((start == std::string_view("iso_") ? "iso_" : start) + name, "ISO-" + name);
        }
        for (int page = 1250; page <= 1258; ++page)
            for (const char* start : {"windows-", "cp", "x-cp"})
                names.emplace(start + std::to_string(page), "WINDOWS-" + std::to_string(page));
        return names;
    }();
    return table;
}

struct converter {
    explicit converter(const std::string& from) : handle(::iconv_open("UTF-8", from.c_str())) {}
    converter(const converter&) = delete;
    converter& operator=(const converter&) = delete;
    ~converter()
    {
        if (usable()) ::iconv_close(handle);
    }
    bool usable() const { return handle != reinterpret_cast<iconv_t>(-1); }
    iconv_t handle;
};

std::optional<std::string> known(std::string_view label)
{
    const auto name = labels().find(lower_case(trimmed(label, around_a_label)));
    if (name == labels().end() || !converter(name->second).usable()) return std::nullopt;
    return name->second;
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
    const converter converts(choice.name);
    if (!converts.usable()) throw std::runtime_error("iconv knows no " + choice.name);
    bytes.remove_prefix(std::min(choice.skip, bytes.size()));
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 8);
    std::array<char, 32768> out;
    char* in = const_cast<char*>(bytes.data());
    for (std::size_t left = bytes.size(); left > 0;) {
        char* to = out.data();
        std::size_t room = out.size();
        const bool failed = ::iconv(converts.handle, &in, &left, &to, &room) == static_cast<std::size_t>(-1);
        const int why = errno;
        text.append(out.data(), out.size() - room);
        if (!failed || why == E2BIG) continue;
        text += replacement;
        ++in;
        --left;
    }
    return text;
}

}  // namespace cmcp
