#include "web/web_browser_errors.hpp"

#include "egress/web_url.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp {
namespace {

struct meaning {
    std::string_view begin;  // of the error's name, without "net::ERR_"
    std::string_view text;
};

constexpr meaning meanings[] = {
    {"CERT_AUTHORITY_INVALID",
     "TLS failed: the certificate is not signed by an authority that is trusted (WEB_CA_FILE adds one)"},
    {"CERT_DATE_INVALID", "TLS failed: the certificate has expired or is not valid yet"},
    {"CERT_COMMON_NAME_INVALID", "TLS failed: the certificate is for another name"},
    {"CERT_REVOKED", "TLS failed: the certificate was revoked"},
    {"CERT_", "TLS failed: the certificate is not acceptable"},
    {"SSL_", "TLS failed: server and browser found no common protocol, or the server does not speak TLS"},
    {"CONNECTION_REFUSED", "the server refused the connection"},
    {"CONNECTION_RESET", "the server reset the connection"},
    {"CONNECTION_CLOSED", "the server closed the connection without an answer"},
    {"EMPTY_RESPONSE", "the server closed the connection without an answer"},
    {"INVALID_RESPONSE", "the server's answer is not HTTP"},
    {"INVALID_HTTP_RESPONSE", "the server's answer is not HTTP"},
    {"CONTENT_DECODING_FAILED", "the page's compressed content is damaged"},
    {"RESPONSE_HEADERS_TOO_BIG", "the header of the server's answer is too large"},
    {"TOO_MANY_REDIRECTS", "there are too many redirects"},
    {"UNSAFE_PORT", "no page is ever served at this port, browsers refuse it"},
    {"UNKNOWN_URL_SCHEME", "it leads to an address that is neither http nor https"},
    {"DISALLOWED_URL_SCHEME", "it leads to an address that is neither http nor https"},
    {"UNSAFE_REDIRECT", "it redirects to an address that is neither http nor https"},
    {"BLOCKED_BY_ADMINISTRATOR", "it leads to an address that the browser must not open"},
    {"TIMED_OUT", "the server did not answer in time"},
    {"ABORTED",
     "the server sent nothing to show, or a download, and downloads are refused; web_scrape reads documents of some "
     "kinds"},
    {"TUNNEL_CONNECTION_FAILED", "no connection to the server could be made"},
    {"HTTP_RESPONSE_CODE_FAILURE", "the server answered with an error and no page"},
};

// `port` 0: any.
std::string latest_refusal(const egress_ticket& ticket, const std::string& host, std::uint16_t port = 0)
{
    const auto& all = ticket.refusals();
    const auto latest = std::find_if(all.rbegin(), all.rend(), [&](const egress_refusal& each) {
        return each.host == host && (port == 0 || each.port == port);
    });
    return latest == all.rend() ? std::string() : latest->sentence;
}

// Other rules are refusals by the policy.
bool failed(const egress_refusal& each)
{
    constexpr std::string_view failures[] = {"unresolved", "unreachable", "timeout", "bad response"};
    return std::find(std::begin(failures), std::end(failures), each.rule) != std::end(failures);
}

}  // namespace

std::string navigation_sentence(std::string_view error, const std::string& url, const std::string& host,
                                const egress_ticket& ticket)
{
    // A redirect may have led elsewhere, so the last refusal ended it.
    if (auto refused = latest_refusal(ticket, host); !refused.empty()) return refused;
    constexpr std::string_view prefix = "net::ERR_";
    const bool named = error.starts_with(prefix);
    const std::string_view name = named ? error.substr(prefix.size()) : error;
    const bool through_proxy =
        name.starts_with("TUNNEL_") || name.starts_with("EMPTY_RESPONSE") || name.starts_with("CONNECTION_");
    if (through_proxy && !ticket.refusals().empty()) return ticket.refusals().back().sentence;
    const std::string begin = "The browser could not load " + url + ": ";
    for (const auto& each : meanings)
        if (name.starts_with(each.begin)) return begin + std::string(each.text) + " (" + std::string(error) + ").";
    return begin + std::string(error) + ".";
}

std::string refusal_of_page(const egress_ticket& ticket, const std::string& url, int status)
{
    constexpr int answers[] = {403, 413, 502, 503, 504};
    if (std::find(std::begin(answers), std::end(answers), status) == std::end(answers)) return {};
    try {
        const web_url page = web_url::parse(url);
        return latest_refusal(ticket, page.who.name, page.port);
    } catch (const bad_url&) {
        return {};
    }
}

// Through a tunnel the guard answers without a status that the page sees.
std::string refusal_of_request(const egress_ticket& ticket, const std::string& url, int status)
{
    if (status != 0) return refusal_of_page(ticket, url, status);
    try {
        const web_url wanted = web_url::parse(url);
        return latest_refusal(ticket, wanted.who.name, wanted.port);
    } catch (const bad_url&) {
        return {};
    }
}

std::string http_sentence(const std::string& url, int status)
{
    std::string sentence = url + " answered " + std::to_string(status) + ": ";
    if (status == 404 || status == 410) return sentence + "there is no such page; check the address.";
    if (status == 401 || status == 403) return sentence + "the server does not let this page be read.";
    if (status == 429) return sentence + "the server was asked too often; wait before asking again.";
    return sentence +
           (status >= 500 ? "the server failed; try again later." : "the server does not accept this request.");
}

std::vector<std::string> refusal_notes(const egress_ticket& ticket, const std::string& known)
{
    std::vector<std::string> notes;
    for (const auto& each : ticket.refusals()) {
        if (each.sentence == known) continue;
        const std::string what = failed(each) ? "failed: " : "was refused: ";
        std::string note = "A request of the page " + what + each.sentence;
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
    }
    return notes;
}

}  // namespace cmcp
