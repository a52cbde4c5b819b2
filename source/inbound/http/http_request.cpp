#include "http/http_request.hpp"
#include "log/request_id.hpp"
#include "text/ascii.hpp"
#include "tls/client_certificate.hpp"

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

constexpr std::array<std::string_view, 21> list_names{"accept",
                                                      "accept-charset",
                                                      "accept-encoding",
                                                      "accept-language",
                                                      "access-control-request-headers",
                                                      "baggage",
                                                      "cache-control",
                                                      "connection",
                                                      "cookie",
                                                      "if-match",
                                                      "if-none-match",
                                                      "keep-alive",
                                                      "pragma",
                                                      "prefer",
                                                      "sec-websocket-extensions",
                                                      "sec-websocket-protocol",
                                                      "te",
                                                      "tracestate",
                                                      "trailer",
                                                      "upgrade",
                                                      "via"};
static_assert(std::is_sorted(list_names.begin(), list_names.end()));

}  // namespace

void join_lists(http_request& request)
{
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::array<std::size_t, list_names.size()> first;  // of each list, among the fields
    first.fill(none);
    std::array<std::string, list_names.size()> all;
    std::vector<std::pair<std::string_view, std::string_view>> kept;
    for (std::size_t i = 0; i < request.fields.size(); ++i) {
        const auto [name, value] = request.fields[i];
        const auto entry = std::lower_bound(list_names.begin(), list_names.end(), name);
        const auto of = static_cast<std::size_t>(entry - list_names.begin());
        const bool lists = entry != list_names.end() && *entry == name;
        if (lists && first[of] != none) {
            if (kept.empty())
                kept.assign(request.fields.begin(), request.fields.begin() + static_cast<std::ptrdiff_t>(i));
            auto& joined = all[of];
            if (joined.empty()) joined = kept[first[of]].second;
            if (value.empty()) continue;
            if (!joined.empty()) joined += name == "cookie" ? "; " : ", ";
            joined += value;
            continue;
        }
        if (lists) first[of] = kept.empty() ? i : kept.size();
        if (!kept.empty()) kept.emplace_back(name, value);
    }
    if (kept.empty()) return;
    for (std::size_t of = 0; of < all.size(); ++of) {
        if (all[of].empty()) continue;
        request.lists.push_back(std::make_shared<const std::string>(std::move(all[of])));
        kept[first[of]].second = *request.lists.back();
    }
    request.fields = std::move(kept);
}

bool takes_html(const http_request& request)
{
    return request.header("accept").value_or("").find("text/html") != std::string_view::npos;
}

std::string percent_decoded(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::optional<std::string_view> http_request::header(std::string_view name) const
{
    for (const auto& field : fields)
        if (equal_ignoring_case(field.first, name)) return field.second;
    return std::nullopt;
}

std::size_t http_request::count(std::string_view name) const
{
    return static_cast<std::size_t>(
        std::count_if(fields.begin(), fields.end(), [name](const auto& field) { return field.first == name; }));
}

std::string_view http_request::certified_name() const
{
    return certificate ? std::string_view(certificate->name) : std::string_view();
}

std::string http_request::client_id() const
{
    const auto sent = header("x-request-id").value_or("");
    return log::is_plain_id(sent) ? std::string(sent) : std::string();
}

std::string http_request::payer() const { return principal.empty() ? "@" + address : principal; }

std::optional<std::string> http_request::parameter(std::string_view name) const
{
    std::string_view rest = query;
    while (!rest.empty()) {
        auto part = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        auto equals = part.find('=');
        if (part.substr(0, equals) != name) continue;
        return equals == std::string_view::npos ? std::string() : percent_decoded(part.substr(equals + 1));
    }
    return std::nullopt;
}

std::optional<std::string> http_request::filled_parameter(std::string_view name) const
{
    auto value = parameter(name);
    if (value && value->empty()) value.reset();
    return value;
}

}  // namespace cmcp
