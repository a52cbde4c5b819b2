#include "files/text_encoding.hpp"

#include "files/file_error.hpp"
#include "files/file_path.hpp"
#include "text/utf8_text.hpp"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cmcp {

namespace {

// Names without "-", "_" and case, and the names of iconv(3).
constexpr std::array<std::pair<std::string_view, const char*>, 32> known{{
    {"utf8", "UTF-8"},
    {"ascii", "ASCII"},
    {"usascii", "ASCII"},
    {"utf16", "UTF-16"},
    {"utf16le", "UTF-16LE"},
    {"utf16be", "UTF-16BE"},
    {"latin1", "ISO-8859-1"},
    {"iso88591", "ISO-8859-1"},
    {"latin2", "ISO-8859-2"},
    {"iso88592", "ISO-8859-2"},
    {"iso88595", "ISO-8859-5"},
    {"iso88597", "ISO-8859-7"},
    {"iso88599", "ISO-8859-9"},
    {"latin9", "ISO-8859-15"},
    {"iso885915", "ISO-8859-15"},
    {"windows1250", "CP1250"},
    {"cp1250", "CP1250"},
    {"windows1251", "CP1251"},
    {"cp1251", "CP1251"},
    {"windows1252", "CP1252"},
    {"cp1252", "CP1252"},
    {"koi8r", "KOI8-R"},
    {"koi8u", "KOI8-U"},
    {"shiftjis", "SHIFT_JIS"},
    {"sjis", "SHIFT_JIS"},
    {"eucjp", "EUC-JP"},
    {"euckr", "EUC-KR"},
    {"gbk", "GBK"},
    {"gb2312", "GB2312"},
    {"gb18030", "GB18030"},
    {"big5", "BIG5"},
    {"cp437", "CP437"},
}};

std::string plain(std::string_view name)
{
    std::string result;
    for (char c : name)
        if (c != '-' && c != '_') result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

class converter {
public:
    converter(const char* to, const char* from) : handle_(::iconv_open(to, from))
    {
        if (handle_ == reinterpret_cast<iconv_t>(-1))
            throw file_error(std::string("encoding: this system cannot convert between ") + from + " and " + to +
                             "; use utf-8 or base64.");
    }
    converter(const converter&) = delete;
    converter& operator=(const converter&) = delete;
    ~converter() { ::iconv_close(handle_); }

    /// Converts until the input ends or holds something that cannot be converted; returns errno then, else 0.
    int convert(std::string_view& input, std::string& output) const
    {
        char buffer[16 * 1024];
        char* in = const_cast<char*>(input.data());  // iconv's interface; the input is not changed
        std::size_t left = input.size();
        int error = 0;
        for (bool more = true; more;) {
            char* out = buffer;
            std::size_t room = sizeof buffer;
            error = ::iconv(handle_, &in, &left, &out, &room) == static_cast<std::size_t>(-1) ? errno : 0;
            output.append(buffer, sizeof buffer - room);
            more = error == E2BIG;
        }
        input.remove_prefix(input.size() - left);
        return error;
    }

private:
    iconv_t handle_;
};

}  // namespace

text_encoding::text_encoding(std::string_view name)
{
    const std::string wanted = plain(name);
    const auto entry = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == wanted; });
    if (entry == known.end())
        throw file_error("encoding " + quote_path(name) +
                         " is not known; use utf-8, base64 (any bytes), latin-1, "
                         "utf-16, utf-16le, utf-16be, windows-1252, shift_jis, gb18030 or another common one.");
    canonical_ = entry->second;
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
        const converter from("UTF-8", canonical_.c_str());
        const int error = from.convert(rest, result.text);
        result.consumed = bytes.size() - rest.size();
        if (error == 0 || error == EINVAL) return result;
    }
    throw file_not_text("is not " + canonical_ + " text (at byte " + std::to_string(result.consumed) +
                        " of what was asked for); read it with encoding \"base64\".");
}

std::string text_encoding::encode(std::string_view text) const
{
    if (valid_utf8_length(text) != text.size()) throw file_error("content is not valid UTF-8.");
    if (canonical_ == "UTF-8") return std::string(text);
    const converter to(canonical_.c_str(), "UTF-8");
    std::string bytes;
    if (to.convert(text, bytes) != 0)
        throw file_error("content holds a character that does not exist in " + canonical_ + "; use encoding utf-8.");
    return bytes;
}

}  // namespace cmcp
