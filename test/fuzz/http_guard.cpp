// A request's bytes pass header rules, parser and guard. An admitted request has one Host that is served here, one
// framing and a path. Bytes that arrive one by one get the same verdict as all at once.
#include "config/settings.hpp"
#include "http/raw_header.hpp"
#include "http/request_guard.hpp"
#include "http/request_parser.hpp"
#include "test/support/guarded.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace cmcp;

constexpr std::size_t max_header = 4096;

raw_header::verdict bit_by_bit(raw_header& header, std::string_view bytes)
{
    auto verdict = raw_header::verdict::incomplete;
    for (std::size_t size = 1; size <= bytes.size() && verdict == raw_header::verdict::incomplete; ++size)
        verdict = header.look(bytes.substr(0, size));
    return verdict;
}

void check_admitted(const http_request& request)
{
    if (request.count("host") != 1 || request.path.empty() || request.path.front() != '/') std::abort();
    if (request.count("content-length") + request.count("transfer-encoding") > 1) std::abort();
    if (request.header("origin") && request.count("origin") != 1) std::abort();
}

void feed(request_parser& parser, std::string_view bytes)
{
    auto state = request_parser::state::more;
    while (state == request_parser::state::more && !bytes.empty()) {
        std::size_t used = 0;
        state = parser.put_body(bytes, used);
        if (used > bytes.size() || parser.body_size() > 1000) std::abort();
        if (used == 0) return;
        bytes.remove_prefix(used);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const settings config;
    static const test::guarded guard(config);
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    raw_header whole(max_header);
    raw_header slow(max_header);
    auto verdict = whole.look(bytes);
    if (verdict != bit_by_bit(slow, bytes) || whole.size() != slow.size()) std::abort();
    if (verdict != raw_header::verdict::complete) return 0;
    request_parser parser(max_header);
    http_request request;
    auto state = parser.put_header(bytes.substr(whole.begin(), whole.size() - whole.begin()), request);
    if (state != request_parser::state::more && state != request_parser::state::done) return 0;
    if (!parser.limit_body(1000)) return 0;
    if (!guard.admit(request)) check_admitted(request);
    request.parameter("sessionId");
    if (state == request_parser::state::more) feed(parser, bytes.substr(whole.size()));
    return 0;
}
