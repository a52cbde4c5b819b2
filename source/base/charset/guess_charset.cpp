#include "charset/guess_charset.hpp"

#include "text/ascii.hpp"
#include "text/charset.hpp"
#include "text/utf8_text.hpp"

#include <uchardet/uchardet.h>

#include <algorithm>
#include <memory>

namespace cmcp {
namespace {

constexpr std::size_t most_read = 64 * 1024;
constexpr std::size_t looked_at_for_zeros = 1024;

unsigned char at(std::string_view bytes, std::size_t index) { return static_cast<unsigned char>(bytes[index]); }

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool is_letter(unsigned char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

std::string_view sample_of(std::string_view bytes)
{
    const auto first = std::find_if_not(bytes.begin(), bytes.end(), is_ascii) - bytes.begin();
    bytes.remove_prefix(static_cast<std::size_t>(first));
    return bytes.substr(0, most_read);
}

// By the statistics of languages; empty: it has no opinion.
std::string by_statistics(std::string_view sample)
{
    const std::unique_ptr<uchardet, decltype(&::uchardet_delete)> detector(::uchardet_new(), &::uchardet_delete);
    if (!detector || ::uchardet_handle_data(detector.get(), sample.data(), sample.size()) != 0) return {};
    ::uchardet_data_end(detector.get());
    return ::uchardet_get_charset(detector.get());
}

struct sign_count {
    std::size_t controls = 0;  // 0x80 to 0x9f, which the ISO parts leave to controls
    std::size_t in_words = 0;  // signs of Latin-1 (0xa1 to 0xbf) that stand beside a letter
    std::size_t letters = 0;   // 0xc0 and above
};

sign_count count_signs(std::string_view sample)
{
    sign_count signs;
    for (std::size_t i = 0; i < sample.size(); ++i) {
        const auto byte = at(sample, i);
        if (byte >= 0x80 && byte < 0xa0) ++signs.controls;
        if (byte >= 0xc0) ++signs.letters;
        const bool beside =
            (i > 0 && is_letter(at(sample, i - 1))) && (i + 1 < sample.size() && is_letter(at(sample, i + 1)));
        if (byte >= 0xa1 && byte < 0xc0 && beside) ++signs.in_words;
    }
    return signs;
}

std::size_t count_of(std::string_view sample, char wanted)
{
    return static_cast<std::size_t>(std::count(sample.begin(), sample.end(), wanted));
}

// Pages of Windows hold the printable characters of the ISO part beside their own, which is also what browsers take
// these labels for.
std::string superset_of(const std::string& name, std::string_view sample)
{
    constexpr std::string_view western =
        "ASCII ISO-8859-1 ISO-8859-3 ISO-8859-4 ISO-8859-10 ISO-8859-14 ISO-8859-15 ISO-8859-16";
    if (is_word_of(western, name)) return "WINDOWS-1252";
    if (name == "ISO-8859-9") return "WINDOWS-1254";
    if (name == "ISO-8859-13") return "WINDOWS-1257";
    if (name == "ISO-8859-8") return "WINDOWS-1255";
    if (name == "TIS-620" || name == "ISO-8859-11") return "CP874";
    if (name == "SHIFT_JIS") return "CP932";
    if (name == "BIG5") return "BIG5-HKSCS";
    if (name == "UHC" || name == "EUC-KR") return "CP949";
    if (name == "GB2312" || name == "GBK" || name == "HZ-GB-2312") return "GB18030";
    // The capital alpha with its accent is what differs.
    if (name == "ISO-8859-7") return count_of(sample, '\xb6') > count_of(sample, '\xa2') ? name : "WINDOWS-1253";
    // Small letters are alike in both; the capitals of the Mac are below 0xa0.
    if (name == "MAC-CYRILLIC") return count_signs(sample).controls * 20 > sample.size() ? name : "WINDOWS-1251";
    return name;
}

std::string converted(std::string_view sample, const std::string& name)
{
    const charset_converter converter("UTF-8", name);
    std::string text;
    if (converter.usable()) converter.convert(sample, text);
    return text;
}

// Statistics tell the central European charsets badly from each other and from Latin-1, for which they show signs
// within words ("za¿ó³æ"). Where they differ, one has controls or signs for the other's letters.
std::string latin_of(const std::string& name, std::string_view sample, std::string_view language)
{
    constexpr std::string_view central = "pl cs cz sk sl si hu hr sr bs ba ro sq al";
    const bool is_central = name == "ISO-8859-2" || name == "WINDOWS-1250";
    if (!is_central && name != "WINDOWS-1252") return name;
    const auto signs = count_signs(sample);
    const bool is_declared = is_word_of(central, language);
    if (!is_central && !is_declared && signs.in_words * 4 <= signs.in_words + signs.letters) return name;
    constexpr std::string_view letters_of_iso = "\xa1\xa6\xa9\xab\xac\xae\xb1\xb6\xbb";
    std::string better = is_central ? name : "ISO-8859-2";
    if (signs.controls > 0)
        better = "WINDOWS-1250";
    else if (sample.find_first_of(letters_of_iso) != std::string_view::npos)
        better = "ISO-8859-2";
    const bool is_alike = !is_declared && converted(sample, better) == converted(sample, "WINDOWS-1252");
    return is_alike ? "WINDOWS-1252" : better;
}

bool converts(std::string_view sample, const std::string& name)
{
    const charset_converter converter("UTF-8", name);
    std::string ignored;
    if (!converter.usable()) return false;
    const int problem = converter.convert(sample, ignored);
    return problem == 0 || problem == EINVAL;  // the sample may end within a character
}

// The usual charsets of a language beside UTF-8, the likelier first.
std::string_view charsets_of(std::string_view language)
{
    struct row {
        std::string_view languages, charsets;
    };
    constexpr row rows[] = {{"ru be by bg mk sr", "WINDOWS-1251 KOI8-R"},
                            {"uk ua", "WINDOWS-1251 KOI8-U"},
                            {"he il iw yi", "WINDOWS-1255"},
                            {"ar fa ir ur ps eg sa ae", "WINDOWS-1256"},
                            {"el gr", "WINDOWS-1253"},
                            {"tr az", "WINDOWS-1254"},
                            {"lt lv et ee", "WINDOWS-1257"},
                            {"vi vn", "WINDOWS-1258"},
                            {"th", "CP874"},
                            {"ja jp", "CP932 EUC-JP"},
                            {"ko kr", "CP949"},
                            {"zh-tw zh-hk zh-hant tw hk mo", "BIG5-HKSCS GB18030"},
                            {"zh cn zh-cn zh-hans zh-sg", "GB18030 BIG5-HKSCS"}};
    for (const auto& each : rows)
        if (is_word_of(each.languages, language)) return each.charsets;
    return {};
}

std::string of_language(std::string_view sample, std::string_view language)
{
    std::string_view left = charsets_of(language);
    while (!left.empty()) {
        std::string name(left.substr(0, left.find(' ')));
        left.remove_prefix(std::min(left.size(), name.size() + 1));
        if (converts(sample, name)) return name;
    }
    return {};
}

// A short list of words gives statistics nothing to work on, but its bytes come in pairs of a narrow range, which no
// text in Latin letters does.
std::string by_pairs(std::string_view sample)
{
    std::size_t pairs = 0, in_hangul = 0, in_hanzi = 0;
    for (std::size_t i = 0; i < sample.size(); ++i) {
        if (is_ascii(sample[i])) continue;
        if (i + 1 >= sample.size() || at(sample, i + 1) < 0xa1) return {};
        const auto lead = at(sample, i++);
        ++pairs;
        if (lead >= 0xb0 && lead <= 0xc8) ++in_hangul;
        if (lead >= 0xb0 && lead <= 0xd7) ++in_hanzi;
    }
    if (pairs < 2 || in_hanzi * 4 < pairs * 3) return {};
    const bool korean = in_hangul == pairs && pairs >= 4;
    const std::string name = korean ? "CP949" : "GB18030";
    return converts(sample, name) ? name : std::string();
}

std::string first_tag(std::string_view language)
{
    const std::string whole = lower_case(language);
    return charsets_of(whole).empty() ? whole.substr(0, whole.find('-')) : whole;
}

bool is_western(const std::string& name)
{
    return name.empty() || name == "WINDOWS-1252" || name.starts_with("ISO-8859-2") || name == "WINDOWS-1250";
}

}  // namespace

std::string utf16_without_mark(std::string_view bytes)
{
    const auto start = bytes.substr(0, looked_at_for_zeros);
    std::size_t even = 0, odd = 0;
    for (std::size_t i = 0; i < start.size(); ++i)
        if (start[i] == '\0') ++(i % 2 == 0 ? even : odd);
    const auto enough = start.size() / 2 * 6 / 10;
    if (enough < 2) return {};
    if (odd >= enough && even <= odd / 8) return "UTF-16LE";
    return even >= enough && odd <= even / 8 ? "UTF-16BE" : std::string();
}

std::string guess_charset(std::string_view bytes, std::string_view language)
{
    if (auto wide = utf16_without_mark(bytes); !wide.empty()) return wide;
    std::string_view rest = bytes;
    rest.remove_prefix(valid_utf8_length(bytes));
    if (rest.empty() || (is_cut_utf8(rest) && rest.size() < bytes.size())) return "UTF-8";
    const auto sample = sample_of(bytes);
    const std::string tag = first_tag(language);
    std::string name = superset_of(by_statistics(sample), sample);
    if (name == "UTF-8") name.clear();
    if (is_western(name)) {
        if (auto named = of_language(sample, tag); !named.empty()) return named;
        if (auto paired = by_pairs(sample); !paired.empty()) return paired;
    }
    if (name.empty() || !charset_converter("UTF-8", name).usable()) name = "WINDOWS-1252";
    return latin_of(name, sample, tag);
}

}  // namespace cmcp
