#include "test/program/tools/sandbox_support.hpp"
#include "test/support/catch.hpp"

#include <unistd.h>

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// Of the standard library alone: a PNG of random colours, or of one.
constexpr const char* draw_png = R"(
import os, struct, zlib
def png(name, width, height, noise):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + (os.urandom(3 * width) if noise else b'\x10\x20\x30' * width) for _ in range(height))
    data = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
    open(name, 'wb').write(data + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
)";

constexpr const char* hello_pdf =
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>endobj\n"
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>>endobj\ntrailer<</Size 4/Root 1 0 R>>\n%%EOF\n";

struct view_stage : sandbox_stage {
    json::object view(const std::string& path, json::object more = {})
    {
        more["path"] = path;
        return tool("view_file", std::move(more));
    }
    std::string image() const { return base64_decode(text(last.content.at(0).as_object(), "data")).value(); }
    std::string media_type() const { return text(last.content.at(0).as_object(), "mimeType"); }
    void put(const std::string& name, const std::string& bytes)
    {
        fs::create_directories(workspace());
        std::ofstream(workspace() / name) << bytes;
    }
    bool without(const char* program, const char* package)
    {
        const bool missing = ::access(program, X_OK) != 0;
        if (missing) WARN("not tested: the package " << package << " is not installed");
        return missing;
    }
};

}  // namespace

TEST_CASE("view_file shows a small image as it is, from the workspace and from a sandbox")
{
    view_stage s;
    const std::string draw = std::string(draw_png) + "png('a.png', 20, 10, True)";
    s.python(draw);
    s.view("a.png");
    REQUIRE(s.last.content.size() == 1);
    CHECK(s.media_type() == "image/png");
    std::ifstream file(s.workspace() / "a.png", std::ios::binary);
    CHECK(s.image() == std::string(std::istreambuf_iterator<char>(file), {}));
    const auto id = s.create();
    s.python_in(id, draw);
    s.view("a.png", {{"sandbox_id", id}});
    CHECK(s.media_type() == "image/png");
    CHECK(text(s.as("bob", "view_file", {{"path", "a.png"}, {"sandbox_id", id}}), "error_type") == "NotFound");
    CHECK(text(s.view("../a.png"), "error").find("leads out") != std::string::npos);
}

TEST_CASE("view_file scales large images down")
{
    view_stage s;
    if (!fs::exists("/usr/lib/python3/dist-packages/PIL")) {
        WARN("not tested: the package python3-pil is not installed");
        return;
    }
    s.python(std::string(draw_png) + "png('noise.png', 1200, 800, True)\npng('wide.png', 4000, 100, False)");
    CHECK(text(s.view("noise.png"), "about").starts_with("1200 × 800 pixels"));
    CHECK(s.media_type() == "image/jpeg");
    CHECK(s.image().size() <= 700'000);
    CHECK(text(s.view("wide.png"), "about") == "4000 × 100 pixels, shown as 1568 × 39");
    CHECK(s.media_type() == "image/png");
    s.put("broken.bmp", "BM");
    CHECK(text(s.view("broken.bmp"), "error").find("damaged") != std::string::npos);
}

TEST_CASE("view_file shows pages of PDF")
{
    view_stage s;
    if (s.without("/usr/bin/pdftoppm", "poppler-utils")) return;
    s.put("a.pdf", hello_pdf);
    CHECK(text(s.view("a.pdf", {{"page", 2}}), "about") == "page 2 of 2");
    CHECK(s.image().starts_with("\x89PNG"));
    CHECK(text(s.view("a.pdf", {{"page", 3}}), "error") == "page: the file has 2 pages.");
    s.put("broken.pdf", "%PDF-1.4 and no more");
    CHECK(s.view("broken.pdf").contains("error"));
}

TEST_CASE("view_file guesses the encoding of an older table, and says so")
{
    view_stage s;
    s.put("ru.csv", "\xc3\xee\xf0\xee\xe4,\xd6\xe5\xed\xe0\n\xcc\xee\xf1\xea\xe2\xe0,1\n");
    const auto russian = s.view("ru.csv");
    CHECK(text(russian, "content").find("| Город | Цена |") != std::string::npos);
    CHECK(text(russian, "about").find("windows-1251, a guess") != std::string::npos);
    s.put("zh.csv", "\xb2\xfa\xc6\xb7,\xbc\xdb\xb8\xf1\n\xc6\xbb\xb9\xfb,3\n");
    CHECK(text(s.view("zh.csv"), "content").find("| 产品 | 价格 |") != std::string::npos);
    s.put("de.csv",
          "Gr\xf6\xdf"
          "e,Caf\xe9\n1,2\n");
    CHECK(text(s.view("de.csv"), "content").find("| Größe | Café |") != std::string::npos);
    s.put("utf8.csv", "Größe,Café\n1,2\n");
    CHECK(text(s.view("utf8.csv"), "about").find("guess") == std::string::npos);
}

TEST_CASE("view_file shows tables by pages")
{
    view_stage s;
    std::string rows = "name;count\n";
    for (int i = 0; i < 70; ++i) rows += "row | " + std::to_string(i) + ";" + std::to_string(i * i) + "\n";
    s.put("a.csv", rows);
    const auto first = s.view("a.csv");
    CHECK(text(first, "content").starts_with("| name | count |\n| --- | --- |\n| row \\| 0 | 0 |\n| row \\| 1 | 1 |"));
    CHECK(text(first, "about") == "70 rows, 2 columns; rows 1 to 50");
    CHECK(first.at("pages") == 2);
    CHECK(text(s.view("a.csv", {{"page", 2}}), "content").ends_with("| row \\| 69 | 4761 |"));
    CHECK(s.view("a.csv", {{"page", 3}}).contains("error"));
    s.put("old.csv", "\xc3\xfb\xb3\xc6,\xbc\xdb\xb8\xf1\n\xc6\xbb\xb9\xfb,\xca\xae\xb6\xfe\xd4\xaa\n");
    CHECK(text(s.view("old.csv"), "content").starts_with("| 名称 | 价格 |"));
    CHECK(text(s.view("old.csv"), "about").ends_with("no encoding is declared: read as gb18030, a guess"));
    s.put("latin.csv",
          "name;Stra\xdf"
          "e\nM\xfcller;Gro\xdf"
          "e Gasse\n");
    CHECK(text(s.view("latin.csv"), "content").ends_with("| Müller | Große Gasse |"));
    s.put("long.csv", std::string(100'000, 'x') + "\n" + std::string(100'000, ',') + "\n");
    CHECK(text(s.view("long.csv"), "content").size() < 20'000);
    s.put("a.txt", "no table");
    CHECK(text(s.view("a.txt"), "error").find("file_read reads other files") != std::string::npos);
}
