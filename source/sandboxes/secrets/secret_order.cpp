#include "secrets/secret_order.hpp"

#include "egress/held_secret.hpp"
#include "identity/key_order.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_key.hpp"
#include "secrets/secret_sealer.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include <openssl/crypto.h>

namespace cmcp {

namespace {

constexpr std::size_t longest_name = 64, shortest_value = 8, longest_value = 4096;

bool is_letter_of_variable(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Variables that programs of a sandbox need as they are.
void check_variable(const std::string& name)
{
    constexpr std::array<std::string_view, 17> taken{
        "PATH",        "HOME",     "USER",      "LANG",          "PWD",         "TMPDIR",
        "SHELL",       "TERM",     "NODE_PATH", "http_proxy",    "https_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "no_proxy", "NO_PROXY",  "SSL_CERT_FILE", "PIP_CERT",
    };
    const bool is_name = !name.empty() && name.size() <= longest_name && !(name[0] >= '0' && name[0] <= '9') &&
                         std::ranges::all_of(name, is_letter_of_variable);
    const bool is_taken = std::ranges::find(taken, name) != taken.end() || name.starts_with("LD_") ||
                          name.starts_with("PYTHON") || name.ends_with("CA_BUNDLE");
    if (is_name && !is_taken) return;
    throw std::invalid_argument("\"" + name.substr(0, 100) +
                                "\" cannot be the name of a secret: programs find it in a variable of this name; write "
                                "API_KEY, for instance");
}

secret_position place_in(const secret_order& wanted)
{
    using kind = secret_position::kind;
    const auto places = {wanted.header.empty(), wanted.query.empty(), wanted.basic.empty()};
    if (std::ranges::count(places, false) != 1)
        throw std::invalid_argument("a secret has one place: a header, a part of the query, or a basic login");
    if (!wanted.header.empty()) return secret_position::parse(kind::header, wanted.header);
    return wanted.query.empty() ? secret_position::parse(kind::basic, wanted.basic)
                                : secret_position::parse(kind::query, wanted.query);
}

std::string hosts_in_order(const std::string& text)
{
    std::vector<std::string> words;
    for (const auto& each : read_secret_hosts(text)) {
        const bool is_below = each.is == egress_entry::kind::subdomains;
        const std::string port = each.port == held_secret::usual_port ? "" : ":" + std::to_string(each.port);
        words.push_back((is_below ? "*." : "") + each.name + port);
    }
    return joined(words, ",");
}

// The value itself stands in no sentence.
void check_value(const std::string& value)
{
    if (value.size() < shortest_value || value.size() > longest_value)
        throw std::invalid_argument(
            "the value of a secret has 8 to 4096 characters, so that it can be told from other "
            "text");
    const auto is_visible = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::ranges::all_of(value, is_visible) || value.front() == ' ' || value.back() == ' ')
        throw std::invalid_argument("the value of a secret is one line of ASCII, without blanks around it");
}

bool is_same(const secret_record& a, const secret_record& b)
{
    return a.name == b.name && a.principal == b.principal && a.sandbox == b.sandbox;
}

// Secrets under several keys could not all be opened.
secret_sealer sealer_for(secret_store& store, const server_settings& config, const secret_record& fresh)
{
    auto others = store.all();
    std::erase_if(others, [&](const auto& each) { return is_same(each, fresh); });
    if (others.empty() && !has_secrets_key(config)) make_secrets_key(config);
    auto key = read_secrets_key(config);
    secret_sealer sealer(key);
    ::OPENSSL_cleanse(key.data(), key.size());
    if (!others.empty()) static_cast<void>(sealer.open(others.front()));
    return sealer;
}

json::value time_or_null(double when)
{
    if (when == 0) return nullptr;
    const std::chrono::duration<double> since(when);
    return json::value(timestamp(
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since))));
}

}  // namespace

std::string principal_in(const secret_order& wanted)
{
    return wanted.principal.value_or(wanted.sandbox.empty() ? "" : secret_record::everybody);
}

secret_record set_secret(secret_store& store, const server_settings& config, const secret_order& wanted,
                         const std::string& value, double now)
{
    secret_record fresh;
    check_variable(wanted.name);
    fresh.name = wanted.name;
    fresh.principal = principal_in(wanted);
    if (!fresh.principal.empty() && fresh.principal != secret_record::everybody) check_principal_name(fresh.principal);
    fresh.sandbox = wanted.sandbox;
    if (!fresh.sandbox.empty() && (!fresh.sandbox.starts_with("sbx_") || fresh.sandbox.size() > 100))
        throw std::invalid_argument("a sandbox is named by its handle, sbx_…");
    fresh.hosts = hosts_in_order(wanted.hosts);
    fresh.place = place_in(wanted).text();
    fresh.created = now;
    check_value(value);
    fresh.sealed = sealer_for(store, config, fresh).seal(fresh, value);
    store.set(fresh);
    return fresh;
}

json::object describe(const secret_record& secret)
{
    json::array hosts;
    for (const auto each : split(secret.hosts, ',')) hosts.emplace_back(each);
    return {{"name", secret.name},
            {"principal", secret.principal},
            {"sandbox", secret.sandbox},
            {"hosts", std::move(hosts)},
            {"place", secret.place},
            {"created", time_or_null(secret.created)},
            {"last_used", time_or_null(secret.used)}};
}

std::string subject_of(const secret_record& secret)
{
    std::string text = secret.name + " for " + secret.hosts;
    if (!secret.principal.empty()) text += " of " + secret.principal;
    return secret.sandbox.empty() ? text : text + " in " + secret.sandbox;
}

}  // namespace cmcp
