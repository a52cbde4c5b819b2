#include "files/text_encoding.hpp"

#include "files/file_error.hpp"
#include "files/file_path.hpp"
#include "text/ascii.hpp"
#include "text/charset.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace cmcp {

namespace {

struct encoding_row {
    const char* name;        // of iconv(3)
    std::string_view known;  // without "-", "_" and case
};

constexpr encoding_row encodings[] = {
    {"UTF-8", "utf8"},
    {"ASCII", "ascii usascii"},
    {"UTF-16", "utf16"},
    {"UTF-16LE", "utf16le"},
    {"UTF-16BE", "utf16be"},
    {"UTF-32", "utf32"},
    {"UTF-32LE", "utf32le"},
    {"UTF-32BE", "utf32be"},
    {"ISO-8859-1", "latin1 iso88591"},
    {"ISO-8859-2", "latin2 iso88592"},
    {"ISO-8859-5", "iso88595"},
    {"ISO-8859-7", "iso88597"},
    {"ISO-8859-9", "iso88599"},
    {"ISO-8859-15", "latin9 iso885915"},
    {"CP1250", "windows1250 cp1250"},
    {"CP1251", "windows1251 cp1251"},
    {"CP1252", "windows1252 cp1252"},
    {"KOI8-R", "koi8r"},
    {"KOI8-U", "koi8u"},
    {"SHIFT_JIS", "shiftjis sjis"},
    {"EUC-JP", "eucjp"},
    {"EUC-KR", "euckr"},
    {"GBK", "gbk"},
    {"GB2312", "gb2312"},
    {"GB18030", "gb18030"},
    {"BIG5", "big5"},
    {"CP437", "cp437"},
};

int convert(const std::string& to, const std::string& from, std::string_view& input, std::string& output)
{
    const charset_converter converter(to, from);
    if (!converter.usable())
        throw file_error("encoding: this system cannot convert between " + from + " and " + to +
                         "; use utf-8 or base64.");
    return converter.convert(input, output);
}

}  // namespace

text_encoding::text_encoding(std::string_view name)
{
    std::string wanted = lower_case(name);
    std::erase_if(wanted, [](char c) { return c == '-' || c == '_'; });
    const auto entry = std::find_if(std::begin(encodings), std::end(encodings),
                                    [&](const auto& one) { return is_word_of(one.known, wanted); });
    if (entry == std::end(encodings))
        throw file_error("encoding " + quote_path(name) +
                         " is not known; use utf-8, base64 (any bytes), latin-1, "
                         "utf-16, utf-16le, utf-16be, windows-1252, shift_jis, gb18030 or another common one.");
    canonical_ = entry->name;
}

text_encoding::decoded text_encoding::decode(std::string_view bytes) const
{
    decoded result;
    std::string_view rest = bytes;
    if (canonical_ == "UTF-8") {
        result.consumed = valid_utf8_length(bytes);
        result.text = bytes.substr(0, result.consumed);
        rest.remove_prefix(result.consumed);
        if (rest.empty() || is_cut_utf8(rest)) return result;
    } else {
        const int error = convert("UTF-8", canonical_, rest, result.text);
        result.consumed = bytes.size() - rest.size();
        if (error == 0 || error == EINVAL) return result;
    }
    throw file_not_text("is not " + canonical_ + " text (at byte " + std::to_string(result.consumed) +
                        " of what was asked for); view_file shows pictures, tables and PDF. Name the encoding of "
                        "another text, for example latin-1, or read the bytes with encoding \"base64\".");
}

std::string encoding_by_mark(const std::string& named, std::string_view bytes)
{
    const bool any = named.empty() || equal_ignoring_case(named, "utf-16") || equal_ignoring_case(named, "utf-32");
    using namespace std::string_view_literals;
    if (any && bytes.starts_with("\xFF\xFE\0\0"sv)) return "utf-32le";
    if (any && bytes.starts_with("\0\0\xFE\xFF"sv)) return "utf-32be";
    if (any && bytes.starts_with("\xFF\xFE")) return "utf-16le";
    if (any && bytes.starts_with("\xFE\xFF")) return "utf-16be";
    return named.empty() ? "utf-8" : named;
}

std::string text_encoding::encode(std::string_view text) const
{
    if (valid_utf8_length(text) != text.size()) throw file_error("content is not valid UTF-8.");
    if (canonical_ == "UTF-8") return std::string(text);
    std::string bytes;
    if (convert(canonical_, "UTF-8", text, bytes) != 0)
        throw file_error("content holds a character that does not exist in " + canonical_ + "; use encoding utf-8.");
    return bytes;
}

}  // namespace cmcp
