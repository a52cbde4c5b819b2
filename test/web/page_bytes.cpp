#include "test/support/catch.hpp"
#include "test/web/packed.hpp"
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

std::string read(std::string_view bytes, std::string_view header = {})
{
    return to_utf8(bytes, choose_charset(bytes, header));
}

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
    CHECK(unpacked("gzip", "").empty());
}

TEST_CASE("damaged, truncated and unknown encodings are named")
{
    const std::string packed = gzip(std::string(5000, 'x') + "the end");
    CHECK(holds(reason("gzip", packed.substr(0, packed.size() - 9)), "truncated"));
    CHECK(holds(reason("br", brotli("hello hello hello").substr(0, 5)), "truncated"));
    CHECK(holds(reason("gzip", "no gzip at all"), "damaged"));
    CHECK(holds(reason("br", "\xff\xff\xff\xff no brotli"), "damaged"));
    CHECK(holds(reason("zstd", "x"), "\"zstd\""));
    CHECK(holds(reason("gzip, gzip, gzip, gzip", "x"), "more than three times"));
}

TEST_CASE("what unpacks to too much is cut, a bomb is called one")
{
    CHECK(holds(reason("gzip", gzip(std::string(20 * mib, '\0'))), "decompression_bomb"));
    CHECK(holds(reason("br", brotli(std::string(20 * mib, '\0'))), "decompression_bomb"));
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
    CHECK(read("a\xff\xfe"
               "b",
               "utf-8") ==
          "a\xef\xbf\xbd\xef\xbf\xbd"
          "b");
    CHECK(read("").empty());
}

TEST_CASE("a charset that nobody knows is named, and the page is read all the same")
{
    const auto header = choose_charset("gr\xc3\xbcn", "klingon");
    CHECK(holds(header.note, "\"klingon\""));
    CHECK(header.name == "UTF-8");
    const auto meta = choose_charset("<meta charset=x-nothing>gr\xfcn", "");
    CHECK(holds(meta.note, "\"x-nothing\""));
    CHECK(meta.name == "WINDOWS-1252");
    const auto both = choose_charset("<meta charset=koi8-r>", "klingon");
    CHECK(both.name == "KOI8-R");
    CHECK(holds(both.note, "klingon"));
    CHECK(choose_charset("x", "utf-7").name == "UTF-8");
    CHECK(choose_charset("x", "utf-8").note.empty());
}
