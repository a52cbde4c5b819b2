#include "cluster/shared_issuers.hpp"

#include "cluster/sealed_entry.hpp"
#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view key_set_kind = "key set";
constexpr double clocks_differ_by = 60;  // seconds
constexpr std::chrono::minutes kept_for(30);

}  // namespace

std::string sealed_key_set(std::string_view key, const std::string& issuer, const std::string& document, double when)
{
    const json::object text{{"issuer", issuer}, {"document", document}, {"fetched", when}};
    return sealed_entry(key, key_set_kind, jsonrpc::write_json(text));
}

std::optional<fetched_key_set> opened_key_set(std::string_view key, std::string_view issuer, std::string_view sealed,
                                              double now)
{
    const auto text = opened_entry(key, key_set_kind, sealed);
    const auto row = text ? jsonrpc::read_object(*text) : json::object();
    const auto* when = row.if_contains("fetched");
    if (view_of(row, "issuer") != issuer || when == nullptr || !when->is_number()) return std::nullopt;
    const double age = now - when->to_number<double>();
    if (age < -clocks_differ_by) return std::nullopt;
    return fetched_key_set{text_of(row, "document"), std::chrono::seconds(std::lround(std::max(0.0, age)))};
}

shared_issuers::shared_issuers(etcd_client& etcd, const settings& config) : etcd_(etcd), config_(config), names_(config)
{
}

awaitable<std::optional<fetched_key_set>> shared_issuers::find(std::string issuer)
{
    auto question = etcd_.get(names_.issuer(issuer));
    const auto entry = co_await if_answered(etcd_, std::move(question));
    std::optional<fetched_key_set> set;
    if (entry && *entry) set = opened_key_set(config_.link_key, issuer, (*entry)->value, seconds_since_1970());
    co_return set;
}

awaitable<bool> shared_issuers::claim(std::string issuer, std::chrono::seconds pause)
{
    auto grant = etcd_.grant(std::max<std::int64_t>(1, pause.count()));
    const auto lease = co_await if_answered(etcd_, std::move(grant));
    if (!lease) co_return true;
    auto claim = etcd_.put_if_absent(names_.fetch(issuer), "1", *lease);
    const auto outcome = co_await if_answered(etcd_, std::move(claim));
    co_return !outcome || outcome->done;
}

awaitable<> shared_issuers::tell(std::string issuer, std::string document)
{
    auto text = sealed_key_set(config_.link_key, issuer, document, seconds_since_1970());
    auto grant = etcd_.grant(std::chrono::seconds(kept_for).count());
    const auto lease = co_await if_answered(etcd_, std::move(grant));
    if (!lease) co_return;
    auto news = etcd_.put(names_.issuer(issuer), std::move(text), *lease);
    co_await if_answered(etcd_, std::move(news));
}

shared_issuer_keys shared_issuers::keys()
{
    shared_issuer_keys all;
    all.find = [this](std::string issuer) { return find(std::move(issuer)); };
    all.claim = [this](std::string issuer, std::chrono::seconds pause) { return claim(std::move(issuer), pause); };
    all.tell = [this](std::string issuer, std::string document) {
        return tell(std::move(issuer), std::move(document));
    };
    return all;
}

}  // namespace cmcp
