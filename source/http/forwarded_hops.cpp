#include "http/forwarded_hops.hpp"

#include "text/ascii.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t most_hops = 64;
constexpr std::size_t longest_host = 255 + 6;  // a name and a port

bool is_host(std::string_view text)
{
    const auto fits = [](char c) {
        return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
               std::string_view(".:-_[]").find(c) != std::string_view::npos;
    };
    return !text.empty() && text.size() <= longest_host && std::all_of(text.begin(), text.end(), fits);
}

bool is_scheme(std::string_view text)
{
    return equal_ignoring_case(text, "http") || equal_ignoring_case(text, "https");
}

bool is_port_or_hidden(std::string_view text)
{
    return (all_digits(text) && text.size() <= 5) || (text.size() > 1 && text.front() == '_');
}

// RFC 7239 section 6: an address with or without a port, "unknown", or a name that hides it, which begins with "_".
// Nothing: none of them.
std::optional<std::string> client_in(std::string_view node)
{
    if (equal_ignoring_case(node, "unknown") || (node.size() > 1 && node.front() == '_')) return std::string();
    const bool bracketed = node.starts_with('[');
    const bool has_port = bracketed || std::count(node.begin(), node.end(), ':') == 1;
    const auto end = std::min(has_port ? node.find(bracketed ? ']' : ':') : node.size(), node.size());
    const auto name = node.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0));
    const auto port = node.substr(std::min(end + (bracketed ? 1 : 0), node.size()));
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(name, error);
    const bool good_port = port.empty() || (port.front() == ':' && is_port_or_hidden(port.substr(1)));
    const bool good_form = !bracketed || (end != node.size() && !error && address.is_v6());
    if (error || !good_port || !good_form || name.find('%') != std::string_view::npos) return std::nullopt;
    return address.to_string();
}

std::vector<std::string_view> split_list(std::string_view text)
{
    std::vector<std::string_view> items;
    for (bool more = true; more;) {
        const auto comma = text.find(',');
        items.push_back(trimmed(text.substr(0, comma), " \t"));
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
    }
    return items;
}

std::string joined_fields(const http_request& request, std::string_view name)
{
    std::string all;
    for (const auto& [field, value] : request.fields)
        if (field == name) (all += all.empty() ? "" : ",").append(value);
    return all;
}

/// Reads Forwarded: elements divided by commas, each of pairs divided by semicolons; values may be quoted.
class forwarded_reader {
public:
    explicit forwarded_reader(std::string_view text) : rest_(text) {}

    std::optional<forwarded_hops> read()
    {
        forwarded_hops hops;
        for (bool more = true; more; more = take(',')) {
            forwarded_hop hop;
            for (bool pairs = true; pairs; pairs = take(';'))
                if (!read_pair(hop)) return std::nullopt;
            hops.push_back(std::move(hop));
            if (hops.size() > most_hops) return std::nullopt;
        }
        skip_blanks();
        return rest_.empty() ? std::optional(std::move(hops)) : std::nullopt;
    }

private:
    void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

    bool take(char mark)
    {
        skip_blanks();
        if (!rest_.starts_with(mark)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view token()
    {
        static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
        const auto stays = [](char c) {
            return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
                   marks.find(c) != std::string_view::npos;
        };
        const auto end = std::find_if_not(rest_.begin(), rest_.end(), stays);
        const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::optional<std::string> quoted()
    {
        std::string text;
        for (rest_.remove_prefix(1); !rest_.empty(); rest_.remove_prefix(1)) {
            if (rest_.front() == '"') return rest_.remove_prefix(1), text;
            if (rest_.front() == '\\') rest_.remove_prefix(1);
            if (rest_.empty()) break;
            text += rest_.front();
        }
        return std::nullopt;
    }

    bool read_pair(forwarded_hop& into)
    {
        skip_blanks();
        const auto name = token();
        if (name.empty() || !rest_.starts_with('=')) return false;
        rest_.remove_prefix(1);
        const auto value = rest_.starts_with('"') ? quoted() : std::optional(std::string(token()));
        return value && !value->empty() && note(into, name, *value);
    }

    // A name may come once in an element; further names mean nothing here.
    static bool note(forwarded_hop& into, std::string_view name, const std::string& value)
    {
        if (equal_ignoring_case(name, "for")) {
            const auto client = client_in(value);
            if (!client || !into.client.empty()) return false;
            into.client = *client;
        } else if (equal_ignoring_case(name, "proto")) {
            if (!is_scheme(value) || !into.scheme.empty()) return false;
            into.scheme = lower_case(value);
        } else if (equal_ignoring_case(name, "host")) {
            if (!is_host(value) || !into.host.empty()) return false;
            into.host = value;
        }
        return true;
    }

    std::string_view rest_;
};

// A list with as many items as there are clients has one for each; of others the last one is that of the last proxy.
template <class Fits>
bool spread(const std::string& list, forwarded_hops& hops, std::string forwarded_hop::*member, Fits fits)
{
    if (list.empty()) return true;
    const auto items = split_list(list);
    if (!std::all_of(items.begin(), items.end(), fits)) return false;
    for (std::size_t i = 0; i < hops.size(); ++i)
        hops[i].*member = items.size() == hops.size() ? items[i] : items.back();
    return true;
}

std::optional<forwarded_hops> hops_of_lists(const http_request& request)
{
    forwarded_hops hops;
    const auto clients = joined_fields(request, "x-forwarded-for");
    for (const auto item : clients.empty() ? std::vector<std::string_view>{"unknown"} : split_list(clients)) {
        const auto client = client_in(item);
        if (!client || hops.size() == most_hops) return std::nullopt;
        hops.push_back({*client, {}, {}});
    }
    const bool good = spread(joined_fields(request, "x-forwarded-proto"), hops, &forwarded_hop::scheme, is_scheme) &&
                      spread(joined_fields(request, "x-forwarded-host"), hops, &forwarded_hop::host, is_host);
    for (auto& hop : hops) hop.scheme = lower_case(hop.scheme);
    return good ? std::optional(std::move(hops)) : std::nullopt;
}

}  // namespace

std::optional<forwarded_hops> forwarded_hops_of(const http_request& request)
{
    const bool listed =
        request.count("x-forwarded-for") + request.count("x-forwarded-proto") + request.count("x-forwarded-host") != 0;
    const auto forwarded = joined_fields(request, "forwarded");
    if (request.count("forwarded") == 0) return listed ? hops_of_lists(request) : forwarded_hops();
    return listed ? std::nullopt : forwarded_reader(forwarded).read();
}

}  // namespace cmcp
