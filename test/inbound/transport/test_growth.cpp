#include "http/cookies.hpp"
#include "http/http_request.hpp"
#include "rest/form_file.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"
#include "transport/line_splitter.hpp"
#include "transport/rpc_over_http.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string repeated(std::string_view piece, std::size_t count)
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += piece;
    return text;
}

// A request whose header is as long as it may be made by settings, and longer.
http_request request_with(std::string_view name, std::size_t lines)
{
    http_request request;
    for (std::size_t i = 0; i < lines; ++i) request.fields.emplace_back(name, "text/html;q=0.1,a=b");
    return request;
}

template <class Parser>
void put_in_pieces(const std::string& text, Parser put)
{
    constexpr std::size_t piece = 16 * 1024;
    for (std::size_t at = 0; at < text.size(); at += piece) put(std::string_view(text).substr(at, piece));
}

}  // namespace

TEST_CASE("headers, queries and cookies take time in proportion to their length")
{
    constexpr std::size_t size = 40'000;
    const auto ranges = [](std::size_t count) { return repeated("text/html;q=0;q=0,", count); };
    const auto accepted = [](const std::string& text) { parse_accept(text); };
    CHECK(growth(ranges, accepted, size) < linear_growth);
    CHECK(growth([](std::size_t count) { return "a" + repeated(";q=0", count); }, accepted, size) < linear_growth);
    const auto lists = [](std::size_t count) { return request_with("accept", count); };
    CHECK(growth(
              lists, [](http_request& request) { join_lists(request); }, size) < linear_growth);
    const auto query = [](std::size_t count) {
        http_request request;
        request.query = repeated("a=%41%4&", count);
        return request;
    };
    CHECK(growth(
              query, [](http_request& request) { request.parameter("b"); }, size) < linear_growth);
    CHECK(growth([](std::size_t count) { return repeated("%41%4%%", count); },
                 [](const std::string& text) { percent_decoded(text); }, size) < linear_growth);
    const auto cookie = [](std::size_t count) {
        http_request request;
        request.lists.push_back(std::make_shared<const std::string>(repeated("a=1; ", count)));
        request.fields.emplace_back("cookie", *request.lists.back());
        return request;
    };
    CHECK(growth(
              cookie, [](http_request& request) { cookie_in(request, "b"); }, size) < linear_growth);
}

TEST_CASE("lines and forms take time in proportion to their length, whatever their pieces are")
{
    const auto split_lines = [](const std::string& text) {
        line_splitter lines(1u << 30);
        put_in_pieces(text, [&lines](std::string_view piece) {
            lines.append(piece);
            while (lines.next()) {
            }
        });
    };
    CHECK(growth([](std::size_t count) { return repeated("{}\n", count); }, split_lines, 200'000) < linear_growth);
    CHECK(growth([](std::size_t count) { return std::string(count, 'x'); }, split_lines, 5'000'000) < linear_growth);
    const auto read_form = [](const std::string& text) {
        form_file form("mark");
        put_in_pieces(text, [&form](std::string_view piece) { form.put(piece); });
    };
    const auto form_of = [](std::string_view content) {
        return [content](std::size_t count) {
            return "--mark\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" +
                   repeated(content, count);
        };
    };
    CHECK(growth(form_of("\r\n--mar"), read_form, 400'000) < linear_growth);
    CHECK(growth(form_of("\r\n"), read_form, 1'000'000) < linear_growth);
}
