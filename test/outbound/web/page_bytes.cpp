#include "charset/decode_text.hpp"
#include "charset/guess_charset.hpp"
#include "test/outbound/web/packed.hpp"
#include "test/support/catch.hpp"
#include "text/ascii.hpp"
#include "text/charset.hpp"
#include "web/content_decoder.hpp"
#include "web/fetch_error.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::uint64_t mib = 1 << 20;

std::string unpacked(std::string_view encoding, std::string_view packed, std::uint64_t limit = mib,
                     std::size_t piece = 7)
{
    content_decoder decoder(encoding);
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += piece) decoder.decode(packed.substr(at, piece), out, limit);
    decoder.finish();
    return out;
}

std::string reason(std::string_view encoding, std::string_view packed, std::uint64_t limit = mib)
{
    try {
        unpacked(encoding, packed, limit, 4096);
    } catch (const fetch_error& problem) {
        return problem.reason + ": " + problem.what();
    }
    return "unpacked";
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string read(std::string_view bytes, std::string_view header = {}) { return decode_text(bytes, header).text; }

}  // namespace

TEST_CASE("packed bodies are unpacked, in whatever pieces they come")
{
    std::string text = "A page.";
    for (int i = 0; i < 12; ++i) text += text;
    CHECK(unpacked("", text) == text);
    CHECK(unpacked("identity", text) == text);
    CHECK(unpacked("gzip", gzip(text)) == text);
    CHECK(unpacked("X-GZIP", gzip(text)) == text);
    CHECK(unpacked("gzip", gzip("one,") + gzip("two")) == "one,two");
    CHECK(unpacked("gzip", gzip(text) + std::string(20, '\0')) == text);
    CHECK(unpacked("deflate", deflate(text, 15)) == text);
    CHECK(unpacked("deflate", deflate(text, -15)) == text);
    CHECK(unpacked("br", brotli(text)) == text);
    CHECK(unpacked("br, gzip", gzip(brotli(text))) == text);
    CHECK(unpacked("zstd", zstd(text)) == text);
    CHECK(unpacked("zstd", zstd("one,") + zstd("two")) == "one,two");
    CHECK(unpacked("deflate, zstd", zstd(deflate(text, -15))) == text);
    for (const char* name : {"none", "UTF-8", "binary"}) CHECK(unpacked(name, text) == text);
    CHECK(unpacked("gzip", "").empty());
}

TEST_CASE("damaged, truncated and unknown encodings are named")
{
    const std::string packed = gzip(std::string(5000, 'x') + "the end");
    CHECK(holds(reason("gzip", packed.substr(0, packed.size() - 9)), "truncated"));
    CHECK(holds(reason("br", brotli("hello hello hello").substr(0, 5)), "truncated"));
    CHECK(holds(reason("gzip", "no gzip at all"), "damaged"));
    CHECK(holds(reason("br", "\xff\xff\xff\xff no brotli"), "damaged"));
    CHECK(holds(reason("zstd", zstd("hello hello hello").substr(0, 12)), "truncated"));
    CHECK(holds(reason("zstd", "no zstd at all"), "damaged"));
    CHECK(holds(reason("lzma", "x"), "\"lzma\""));
    CHECK(holds(reason("gzip, gzip, gzip, gzip", "x"), "more than three times"));
}

TEST_CASE("what unpacks to too much is cut, a bomb is called one")
{
    CHECK(holds(reason("gzip", gzip(std::string(20 * mib, '\0'))), "decompression_bomb"));
    CHECK(holds(reason("br", brotli(std::string(20 * mib, '\0'))), "decompression_bomb"));
    CHECK(holds(reason("zstd", zstd(std::string(20 * mib, '\0'))), "decompression_bomb"));
    CHECK(holds(reason("gzip, gzip", gzip(gzip(std::string(20 * mib, '\0')))), "decompression_bomb"));
    CHECK(holds(reason("", std::string(2 * mib, 'x')), "too_large"));
    CHECK(holds(reason("", std::string(2 * mib, 'x')), "WEB_MAX_SIZE_MB"));
}

TEST_CASE("the charset comes from the mark, the header, the page, in this order")
{
    CHECK(read("\xef\xbb\xbfgrün", "iso-8859-1") == "grün");
    CHECK(read(std::string("\xff\xfeg\0r\0\xfc\0n\0", 10)) == "grün");
    CHECK(read(std::string("\xfe\xff\0g\0r\0\xfc\0n", 10)) == "grün");
    CHECK(read("gr\xfcn", "ISO-8859-1") == "grün");
    CHECK(read("gr\xfcn", "\"latin1\"") == "grün");
    CHECK(read("<meta charset=utf-8>gr\xfcn", "iso-8859-1") == "<meta charset=utf-8>grün");
    CHECK(read("<html><META charset='windows-1251'>\xcf") == "<html><META charset='windows-1251'>П");
    CHECK(read("<meta http-equiv=content-type content=\"text/html; charset=koi8-r\">\xf0") ==
          "<meta http-equiv=content-type content=\"text/html; charset=koi8-r\">П");
    CHECK(read("<?xml version='1.0' encoding='iso-8859-2'?>\xb1") == "<?xml version='1.0' encoding='iso-8859-2'?>ą");
    CHECK(read("<meta charset=utf-16>grün") == "<meta charset=utf-16>grün");
    CHECK(read("\x93quoted\x94", "iso-8859-1") == "“quoted”");
    CHECK(read("\x83\x65\x83\x58\x83\x67", "shift_jis") == "テスト");
    CHECK(read("\xa4\xc6\xa4\xb9\xa4\xc8", "euc-jp") == "てすと");
    CHECK(read("\xb2\xe2\xca\xd4", "gb2312") == "测试");
    CHECK(read("\xb4\xfa\xb8\xd5", "big5") == "測試");
    CHECK(read("\xc5\xd7\xbd\xba\xc6\xae", "euc-kr") == "테스트");
    CHECK(read("grün") == "grün");
    CHECK(read("gr\xfcn") == "grün");
    CHECK(read("a\xc3") == "a\xef\xbf\xbd");
    CHECK(read("größer als \xff"
               "das Maß, für Ärger",
               "utf-8") ==
          "größer als \xef\xbf\xbd"
          "das Maß, für Ärger");
    CHECK(read("").empty());
}

TEST_CASE("a charset that nobody knows is named, and the page is read all the same")
{
    const auto header = decode_text("gr\xc3\xbcn", "klingon");
    CHECK(holds(header.note, "\"klingon\""));
    CHECK(header.charset == "UTF-8");
    const auto meta = decode_text("<meta charset=x-nothing>gr\xfcn", "");
    CHECK(holds(meta.note, "\"x-nothing\""));
    CHECK(holds(meta.note, "guess"));
    CHECK(meta.charset == "WINDOWS-1252");
    const auto both = decode_text("<meta charset=koi8-r>", "klingon");
    CHECK(both.charset == "KOI8-R");
    CHECK(holds(both.note, "klingon"));
    CHECK(decode_text("x", "utf-7").charset == "UTF-8");
    CHECK(decode_text("x", "utf-8").note.empty());
}

TEST_CASE("a page without a declaration is read by a guess, which is told")
{
    struct sample {
        const char* charset;
        const char* text;
    };
    const sample samples[] = {{"WINDOWS-1251", "Новости города: открыта выставка, вход для детей бесплатный."},
                              {"KOI8-R", "Расписание поездов меняется с понедельника, смотрите таблицу."},
                              {"WINDOWS-1255", "מזג האוויר היום נאה, והים שקט מאוד לאורך החוף."},
                              {"WINDOWS-1256", "افتتح المعرض أبوابه صباح اليوم أمام الزوار من كل مكان."},
                              {"WINDOWS-1253", "Ο καιρός σήμερα είναι καλός και η θάλασσα ήρεμη."},
                              {"CP949", "오늘 날씨는 맑고 바다는 잔잔합니다. 내일은 비가 옵니다."},
                              {"GB18030", "今天天气很好，海面平静，明天可能会下雨。"},
                              {"BIG5", "今天天氣很好，海面平靜，明天可能會下雨。"},
                              {"CP932", "今日の天気は晴れで、海は穏やかです。明日は雨でしょう。"},
                              {"EUC-JP", "今日の天気は晴れで、海は穏やかです。明日は雨でしょう。"},
                              {"ISO-8859-2", "Dzisiaj świeci słońce, a jutro będzie padał śnieg. Źródło: gazeta."},
                              {"WINDOWS-1250", "Dnes svítí slunce a zítra bude pršet, říká šéf stanice žlutý kůň."},
                              {"WINDOWS-1254", "Bugün hava güneşli, yarın yağmur yağacak; işte şehrin ışıkları."},
                              {"CP874", "วันนี้อากาศดี ทะเลสงบ พรุ่งนี้อาจมีฝนตก"},
                              {"WINDOWS-1252", "Heute scheint die Sonne, morgen könnte es größere Schauer geben."}};
    for (const auto& [charset, text] : samples) {
        const charset_converter converter(charset, "UTF-8");
        std::string bytes;
        std::string_view input = text;
        REQUIRE(converter.convert(input, bytes) == 0);
        const auto page = decode_text("<html><title>T</title><p>" + bytes + "</p>", "");
        INFO(charset << " was taken for " << page.charset << ": " << page.text);
        CHECK(holds(page.text, text));
        CHECK(holds(page.note, "guess"));
        CHECK(holds(page.note, lower_case(page.charset)));
    }
    CHECK(decode_text("plain", "").note.empty());
    CHECK(decode_text("größer", "").note.empty());
}

TEST_CASE("what is known of the language decides where few bytes do not")
{
    const std::string words = "\xb4\xba\xbd\xba";  // two syllables, and two other ones in Chinese
    CHECK(guess_charset(words, "ko") == "CP949");
    CHECK(guess_charset(words, "cn") == "GB18030");
    CHECK(decode_text("<html lang=\"pl\">\xb6nieg", "").text == "<html lang=\"pl\">śnieg");
    CHECK(decode_text("\xcd\xee\xe2", "", "ru").text == "Нов");
    CHECK(guess_charset(std::string("a\0b\0c\0d\0e\0f\0", 12)) == "UTF-16LE");
    CHECK(guess_charset("plain") == "UTF-8");
    CHECK(guess_charset("") == "UTF-8");
}

TEST_CASE("a declaration that the bytes contradict is passed over, and that is told")
{
    std::string chinese;
    std::string_view input = "海面平静，明天可能会下雨，请带伞。";
    charset_converter("GB18030", "UTF-8").convert(input, chinese);
    const auto by_meta = decode_text("<meta charset=gb2312>" + chinese, "utf-8");
    CHECK(holds(by_meta.text, "明天可能会下雨"));
    CHECK(holds(by_meta.note, "its bytes are not that"));
    CHECK_FALSE(holds(by_meta.note, "guess"));
    const auto by_guess = decode_text("<meta charset=utf-8>" + chinese, "utf-8");
    CHECK(holds(by_guess.text, "明天可能会下雨"));
    CHECK(holds(by_guess.note, "guess"));
    const auto modern = decode_text("Maß für Maß", "iso-8859-1");
    CHECK(modern.text == "Maß für Maß");
    CHECK(holds(modern.note, "utf-8"));
    const auto damaged = decode_text("größer, süßer, schöner\xff", "utf-8");
    CHECK(damaged.charset == "UTF-8");
    CHECK(holds(damaged.note, "1 byte is not valid in utf-8"));
    CHECK(decode_text("\xef\xbb\xbfMaß", "koi8-r").text == "Maß");
}
