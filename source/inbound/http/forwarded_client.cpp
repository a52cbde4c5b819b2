#include "http/forwarded_client.hpp"

#include "config/networks.hpp"
#include "text/ascii.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

using trusts = std::function<bool(const std::string& address)>;

constexpr std::size_t most_trusted_hops = 64;
constexpr auto no_tls = "http";                // where the scheme cannot be read
constexpr std::size_t longest_host = 255 + 6;  // a name and a port

// The description of one connection by the proxy that passes it on. An empty text: it does not say.
struct hop {
    std::string address;
    std::string scheme;
    std::string host;
    bool is_broken = false;
};

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
    return address_text(address);
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

/// Reads one element of Forwarded: pairs divided by semicolons, whose values may be quoted.
class element_reader {
public:
    explicit element_reader(std::string_view text) : rest_(text) {}

    // Nothing of an element that is malformed anywhere counts.
    hop read()
    {
        hop all;
        for (bool more = true; more; more = take(';'))
            if (!read_pair(all)) return broken();
        skip_blanks();
        return rest_.empty() ? all : broken();
    }

private:
    static hop broken() { return {{}, no_tls, {}, true}; }

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

    bool read_pair(hop& into)
    {
        skip_blanks();
        const auto name = token();
        if (name.empty() || !rest_.starts_with('=')) return false;
        rest_.remove_prefix(1);
        const auto value = rest_.starts_with('"') ? quoted() : std::optional(std::string(token()));
        return value && !value->empty() && note(into, name, *value);
    }

    // A name may come once in an element; further names mean nothing here.
    bool note(hop& into, std::string_view name, const std::string& value)
    {
        if (equal_ignoring_case(name, "for")) {
            const auto client = client_in(value);
            if (!client || std::exchange(named_, true)) return false;
            into.address = *client;
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
    bool named_ = false;
};

// Divided at the commas outside of quotes. Nothing: a quote is left open, so nobody can say where an element ends.
std::optional<std::vector<std::string_view>> elements_of(std::string_view line)
{
    std::vector<std::string_view> elements;
    elements.reserve(static_cast<std::size_t>(std::ranges::count(line, ',')) + 1);
    std::size_t begin = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quoted && line[i] == '\\')
            ++i;
        else if (line[i] == '"')
            quoted = !quoted;
        else if (line[i] == ',' && !quoted)
            elements.push_back(line.substr(std::exchange(begin, i + 1), i - begin));
    }
    elements.push_back(line.substr(begin));
    return quoted ? std::nullopt : std::optional(std::move(elements));
}

/// The elements of Forwarded from the right, as hops.
class forwarded_elements {
public:
    explicit forwarded_elements(const http_request& request)
    {
        for (const auto& [field, value] : request.fields) {
            if (field != "forwarded") continue;
            const auto elements = elements_of(value);
            // Elements before a line that cannot be divided are never reached.
            if (!elements) elements_.assign(1, "");
            if (elements) elements_.insert(elements_.end(), elements->begin(), elements->end());
        }
    }

    bool empty() const { return elements_.empty(); }

    hop next()
    {
        const auto element = elements_.back();
        elements_.pop_back();
        return element_reader(element).read();
    }

private:
    std::vector<std::string_view> elements_;
};

// A list with as many items as there are addresses has one for each; of others the last one is that of the last proxy.
std::string_view item_for(const std::vector<std::string_view>& items, std::size_t hop, std::size_t hops)
{
    if (items.empty()) return {};
    return items.size() == hops ? items[hop] : items.back();
}

/// The items of X-Forwarded-For, -Proto and -Host from the right, as hops.
class listed_items {
public:
    explicit listed_items(const http_request& request)
        : texts_{joined_fields(request, "x-forwarded-for"), joined_fields(request, "x-forwarded-proto"),
                 joined_fields(request, "x-forwarded-host")},
          addresses_(split_list(texts_[0])),
          left_(addresses_.size())
    {
        if (!texts_[1].empty()) schemes_ = split_list(texts_[1]);
        if (!texts_[2].empty()) hosts_ = split_list(texts_[2]);
        names_client_ = request.count("x-forwarded-for") != 0;
    }
    listed_items(const listed_items&) = delete;
    listed_items& operator=(const listed_items&) = delete;

    bool empty() const { return left_ == 0; }

    hop next()
    {
        --left_;
        hop here;
        const auto address = names_client_ ? client_in(addresses_[left_]) : std::optional(std::string());
        const auto scheme = item_for(schemes_, left_, addresses_.size());
        const auto host = item_for(hosts_, left_, addresses_.size());
        const bool bad_scheme = !schemes_.empty() && !is_scheme(scheme), bad_host = !hosts_.empty() && !is_host(host);
        here.is_broken = !address || bad_scheme || bad_host;
        here.address = address.value_or("");
        here.scheme = bad_scheme ? no_tls : lower_case(scheme);
        if (!bad_host) here.host = host;
        return here;
    }

private:
    std::string texts_[3];
    std::vector<std::string_view> addresses_, schemes_, hosts_;
    std::size_t left_;
    bool names_client_ = false;
};

template <class Hops>
forwarded_client client_among(const http_request& request, const trusts& trusted)
{
    Hops hops(request);
    forwarded_client client;
    for (std::size_t seen = 0; !hops.empty(); ++seen) {
        const hop here = hops.next();
        client = {here.address.empty() ? unknown_client : here.address, here.scheme, here.host, here.is_broken};
        if (here.address.empty() || !trusted(here.address)) return client;
        if (seen == most_trusted_hops) return {unknown_client, no_tls, {}, true};
    }
    return client;
}

forwarded_client said_by_both(const forwarded_client& one, const forwarded_client& other)
{
    forwarded_client both;
    if (one.address == other.address) both.address = one.address;
    both.scheme = one.scheme == other.scheme ? one.scheme : no_tls;
    if (one.host == other.host) both.host = one.host;
    both.is_broken = one.is_broken || other.is_broken || one.address != other.address;
    return both;
}

}  // namespace

std::optional<forwarded_client> forwarded_client_of(const http_request& request, const trusts& trusted)
{
    const bool listed =
        request.count("x-forwarded-for") + request.count("x-forwarded-proto") + request.count("x-forwarded-host") != 0;
    const bool described = request.count("forwarded") != 0;
    if (!listed && !described) return std::nullopt;
    if (!described) return client_among<listed_items>(request, trusted);
    const auto by_elements = client_among<forwarded_elements>(request, trusted);
    return listed ? said_by_both(by_elements, client_among<listed_items>(request, trusted)) : by_elements;
}

}  // namespace cmcp
