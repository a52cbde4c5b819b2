#include "networks/sandbox_secrets.hpp"

#include "config/settings.hpp"
#include "egress/tls_trust.hpp"
#include "log/log.hpp"
#include "networks/sandbox_network.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_key.hpp"
#include "text/random_id.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <openssl/crypto.h>

namespace cmcp {

namespace {

constexpr std::string_view placeholder_mark = "cmcp-secret-";
constexpr std::chrono::seconds between_tries{10};
constexpr std::size_t most_places = 16;  // of a sandbox, whose masks are kept
constexpr std::size_t shortest_placeholder = 28, longest_placeholder = 128;

// As long as the value where that can be, so that a masked answer has the placeholder as a whole.
std::string make_placeholder(std::size_t value_size)
{
    const auto size = std::clamp(value_size, shortest_placeholder, longest_placeholder);
    std::string text(placeholder_mark);
    text += random_id((size - text.size() + 1) / 2);
    text.resize(size);
    return text;
}

bool is_below(const std::string& name, const std::string& above) { return name.ends_with("." + above); }

// Whether an entry of a network may allow a host of a secret; the guard judges each connection.
bool may_meet(const egress_entry& network, const egress_entry& host)
{
    using kind = egress_entry::kind;
    if (network.refuses || network.is == kind::range) return false;
    if (network.port != 0 && network.port != host.port) return false;
    if (network.is == kind::any) return true;
    const bool both = network.is == kind::subdomains && host.is == kind::subdomains;
    if (both)
        return network.name == host.name || is_below(network.name, host.name) || is_below(host.name, network.name);
    if (network.is == kind::subdomains) return is_below(host.name, network.name);
    return host.is == kind::subdomains ? is_below(network.name, host.name) : network.name == host.name;
}

bool network_meets(const sandbox_record& where, const std::string& hosts)
{
    for (const auto& word : sandbox_network::hosts_in(where)) {
        const auto entry = egress_entry::parse(word);
        for (const auto& host : read_secret_hosts(hosts))
            if (may_meet(entry, host)) return true;
    }
    return false;
}

// 0: it is not the sandbox's.
int nearness(const secret_record& secret, const sandbox_record& where)
{
    const bool for_everybody = secret.principal == secret_record::everybody;
    if (!for_everybody && secret.principal != where.owner) return 0;
    if (!secret.sandbox.empty()) return secret.sandbox == where.id ? 3 : 0;
    return for_everybody ? 1 : 2;
}

bool is_same_secret(const held_secret& a, const held_secret& b)
{
    return a.name == b.name && a.value == b.value && a.placeholder == b.placeholder &&
           a.position.text() == b.position.text() &&
           std::ranges::equal(a.hosts, b.hosts, [](const auto& x, const auto& y) {
               return x.is == y.is && x.name == y.name && x.port == y.port;
           });
}

}  // namespace

class sandbox_secrets::source final : public secret_source {
public:
    source(sandbox_secrets& of, sandbox_record where) : of_(of), where_(std::move(where)) {}

    bool concerns(const host& who) override
    {
        if (who.address) return false;
        const auto all = of_.of(where_);
        return std::ranges::any_of(all, [&](const held_secret& each) { return each.concerns(who); });
    }

    std::shared_ptr<const target_secrets> at(const host& who, std::uint16_t port) override
    {
        if (who.address) return nullptr;
        auto all = of_.of(where_);
        std::erase_if(all, [&](const held_secret& each) { return !each.is_for(who, port); });
        if (all.empty()) return nullptr;
        const auto place = who.with_port(port);
        if (places_.size() >= most_places && !places_.contains(place)) places_.clear();
        auto& known = places_[place];
        if (!known || !std::ranges::equal(known->all, all, is_same_secret)) {
            auto masks = std::make_shared<const secret_masks>(all);
            known = std::make_shared<const target_secrets>(target_secrets{std::move(all), std::move(masks)});
        }
        return known;
    }

    cell_authority& authority() override { return *of_.part_of(where_.id).authority; }

    // Read at the first use: most servers have none.
    awaitable<std::shared_ptr<boost::asio::ssl::context>> trust() override
    {
        if (of_.trust_) co_return of_.trust_;
        auto file = of_.config_.web_ca_file;
        std::string setting = "WEB_CA_FILE";
        of_.trust_ = co_await find_client_context(std::move(file), std::move(setting));
        co_return of_.trust_;
    }

    void note_use(const held_secret& secret) override { of_.note_use(where_, secret.name); }

    blocking_pool& pool() override { return of_.pool_; }

private:
    sandbox_secrets& of_;
    sandbox_record where_;
    std::map<std::string, std::shared_ptr<const target_secrets>> places_;  // because masks take a while to make
};

sandbox_secrets::~sandbox_secrets() { close_all(); }

void sandbox_secrets::close_all()
{
    for (auto& each : secrets_) ::OPENSSL_cleanse(each.value.data(), each.value.size());
    secrets_.clear();
}

bool sandbox_secrets::look()
{
    if (!store_) store_ = secret_store::existing(config_.sandbox_root);
    if (!store_) return false;
    const auto version = store_->version();
    const bool is_retry = trouble_since_ && clock::now() > *trouble_since_ + between_tries;
    if (version == std::exchange(seen_, version) && !is_retry) return !secrets_.empty();
    close_all();
    trouble_since_.reset();
    open_all(store_->all());
    return !secrets_.empty();
}

// A secret that does not open is none, and the log says why.
void sandbox_secrets::open_all(const std::vector<secret_record>& records)
{
    if (records.empty()) return;
    try {
        auto key = read_secrets_key(config_);
        const secret_sealer sealer(key);
        ::OPENSSL_cleanse(key.data(), key.size());
        for (const auto& record : records) secrets_.push_back({record, sealer.open(record)});
    } catch (const secret_error& problem) {
        close_all();
        trouble_since_ = clock::now();
        log::error("secrets", {{"reason", std::string_view(problem.what())}});
    }
}

sandbox_secrets::cell_part& sandbox_secrets::part_of(const std::string& id)
{
    auto& part = parts_[id];
    if (!part.authority) part.authority = std::make_shared<cell_authority>(id);
    return part;
}

held_secret sandbox_secrets::hold(const opened_secret& secret, cell_part& of) const
{
    auto& placeholder = of.placeholders[secret.record.name];
    if (placeholder.empty()) placeholder = make_placeholder(secret.value.size());
    return {secret.record.name, read_secret_hosts(secret.record.hosts), secret_position::read(secret.record.place),
            secret.value, placeholder};
}

const sandbox_secrets::opened_secret* sandbox_secrets::find(const sandbox_record& where, const std::string& name)
{
    const opened_secret* nearest = nullptr;
    for (const auto& each : secrets_) {
        if (each.record.name != name || nearness(each.record, where) == 0) continue;
        if (nearest == nullptr || nearness(each.record, where) > nearness(nearest->record, where)) nearest = &each;
    }
    return nearest;
}

std::vector<held_secret> sandbox_secrets::of(const sandbox_record& where)
{
    std::vector<held_secret> all;
    if (where.network.empty() || !look()) return all;
    for (const auto& each : secrets_) {
        if (find(where, each.record.name) != &each || !network_meets(where, each.record.hosts)) continue;
        all.push_back(hold(each, part_of(where.id)));
    }
    return all;
}

const std::string& sandbox_secrets::certificate_for(const sandbox_record& where)
{
    return part_of(where.id).authority->certificate_pem();
}

std::shared_ptr<secret_source> sandbox_secrets::source_for(const sandbox_record& where)
{
    return std::make_shared<source>(*this, where);
}

// To the minute, because a program may use it thousands of times.
void sandbox_secrets::note_use(const sandbox_record& where, const std::string& name)
{
    for (auto& each : secrets_) {
        if (find(where, name) != &each || seconds_since_1970() - each.record.used < 60) continue;
        each.record.used = seconds_since_1970();
        store_->note_use(each.record, each.record.used);
    }
}

void sandbox_secrets::forget(const std::string& id) { parts_.erase(id); }

}  // namespace cmcp
