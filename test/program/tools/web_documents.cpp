#include "test/program/tools/web_support.hpp"

#include <fstream>
#include <iostream>
#include <iterator>

#include <unistd.h>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string file_bytes(const char* path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("what is text already comes as it is, whatever its type is called")
{
    web_stage s;
    const std::pair<const char*, const char*> pages[] = {{"text/csv", "a;b\n1;<2>"},
                                                         {"text/markdown; charset=utf-8", "# Käse\n\n<b>bold</b>"},
                                                         {"application/yaml", "a:\n  - <x>"},
                                                         {"application/javascript", "if (a < b) alert('c')"},
                                                         {"application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n"},
                                                         {"application/problem+json", "{\"title\": \"x\"}"},
                                                         {"TEXT/X-Diff", "-a\n+b"}};
    for (const auto& [type, body] : pages) {
        INFO(type);
        const auto page = s.page(body, {{"format", "markdown"}}, type);
        CHECK_FALSE(s.last.is_error);
        CHECK(text(page, "content") == body);
        CHECK(page.at("truncated") == false);
    }
    CHECK(text(s.page(std::string("\xff\xfeK\0\xe4\0s\0e\0", 10), {}, "text/plain"), "content") == "Käse");
    for (const char* type : {"image/png", "application/zip", "audio/ogg", "font/woff2", "application/msword"}) {
        INFO(type);
        CHECK(text(s.page("x", {}, type), "reason") == "type");
    }
}

TEST_CASE("the text of a PDF is read in the sandbox")
{
    if (::access("/usr/bin/pdftotext", X_OK) != 0) {
        std::cout << "not tested: the package poppler-utils is not installed\n";
        return;
    }
    web_stage s;
    const std::string report = file_bytes(CMCP_SOURCE_DIR "/test/outbound/web/pages/report.pdf");
    REQUIRE(report.starts_with("%PDF-"));
    for (const char* type : {"application/pdf", "application/octet-stream"}) {
        INFO(type);
        const auto page = s.page(report, {}, type);
        INFO(json::serialize(page));
        CHECK(page.at("success") == true);
        const auto content = text(page, "content");
        for (const char* part :
             {"Quarterly report\n", "Käse, größer als im Vorjahr: 1 234 €.", "Pears 7", "Second page"})
            CHECK(has(content, part));
        CHECK(content.find("Quarterly") < content.find("The end of the report."));
    }
    CHECK(has(s.progress.all_logs(), "reading the PDF"));
    const auto cut = s.page(report, {{"max_length", 9}, {"selector", "p"}}, "application/pdf");
    CHECK(text(cut, "content") == "Quarterly");
    CHECK(cut.at("truncated") == true);
    CHECK(has(text(cut, "hint"), "selector was not used"));
    for (const std::string& damaged : {std::string("%PDF-1.4\nnothing of one"), report.substr(0, 700)}) {
        const auto refused = s.page(damaged, {}, "application/pdf");
        CHECK(s.last.is_error);
        CHECK(has(text(refused, "error"), "The PDF cannot be read: it is damaged or protected by a password."));
    }
}
