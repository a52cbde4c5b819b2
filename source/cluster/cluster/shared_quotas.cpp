#include "cluster/shared_quotas.hpp"

#include "cluster/sealed_entry.hpp"
#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/read_real.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view limit_kind = "limit";
constexpr std::chrono::milliseconds between_looks_at_store(400);
constexpr std::chrono::seconds after_trouble(2);
constexpr std::size_t entries_a_turn = 128;

bool is_same(const stored_limit& one, const stored_limit& other)
{
    return one.changed == other.changed && one.value == other.value && one.cleared == other.cleared;
}

}  // namespace

std::string sealed_limit(std::string_view key, const stored_limit& one)
{
    const json::object text{{"principal", one.principal},
                            {"name", one.name},
                            {"value", one.value},
                            {"changed", one.changed},
                            {"cleared", one.cleared}};
    return sealed_entry(key, limit_kind, jsonrpc::write_json(text));
}

std::optional<stored_limit> opened_limit(std::string_view key, std::string_view sealed)
{
    const auto text = opened_entry(key, limit_kind, sealed);
    if (!text) return std::nullopt;
    const auto row = jsonrpc::read_object(*text);
    stored_limit one{text_of(row, "principal"), text_of(row, "name"), count_of(row, "value")};
    one.changed = real_of(row, "changed", one.changed);
    one.cleared = flag_of(row, "cleared");
    return one;
}

shared_quotas::shared_quotas(etcd_client& etcd, const settings& config, quotas& limits)
    : etcd_(etcd), config_(config), names_(config), limits_(limits)
{
}

awaitable<> shared_quotas::listen()
{
    etcd_client::listener to;
    to.wants_all = false;
    to.whole = [this](const std::vector<etcd_entry>&) { settle_soon(); };
    to.changed = [this](const etcd_entry&, bool) { settle_soon(); };
    return etcd_.watch(names_.limits(), std::move(to));
}

void shared_quotas::settle_soon()
{
    is_due_ = true;
    changed_.notify();
}

void shared_quotas::open_store(bool make)
{
    if (!store_ && make) store_ = std::make_unique<identity_store>(identity_store::file_in(config_.sandbox_root));
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
}

// Of a principal and a limit that are not those of the key, an entry was put in another one's place. Each signature is
// checked, and there may be very many entries, so others have their turn in between.
awaitable<shared_quotas::rows> shared_quotas::take(std::vector<etcd_entry> all)
{
    rows known;
    bool is_new = false;
    auto executor = co_await asio::this_coro::executor;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (i % entries_a_turn == entries_a_turn - 1) co_await asio::post(executor, asio::use_awaitable);
        auto row = opened_limit(config_.link_key, all[i].value);
        if (!row || names_.limit(row->principal, row->name) != all[i].key) continue;
        open_store(true);
        is_new = store_->take_limit(*row) || is_new;
        known.emplace(all[i].key, *std::move(row));
    }
    if (is_new) limits_.look_again();
    co_return known;
}

// Two servers may tell a limit at once, and the later change is not always the last one that is written: then the
// server that has it tells it again, because it hears of the other's news. False: etcd did not answer.
awaitable<bool> shared_quotas::tell_missing(rows known_rows)
{
    if (!store_) co_return true;
    const auto all = store_->limit_changes();
    for (const auto& own : all) {
        const auto key = names_.limit(own.principal, own.name);
        const auto known = known_rows.find(key);
        if (known != known_rows.end() && is_same(known->second, own)) continue;
        auto news = etcd_.put(key, sealed_limit(config_.link_key, own));
        const auto outcome = co_await if_answered(etcd_, std::move(news));
        if (!outcome) co_return false;
    }
    co_return true;
}

// False: etcd did not answer.
awaitable<bool> shared_quotas::settle()
{
    auto question = etcd_.all_below(names_.limits());
    auto all = co_await if_answered(etcd_, std::move(question));
    if (!all) co_return false;
    auto known_rows = co_await take(*std::move(all));
    const bool all_told = co_await tell_missing(std::move(known_rows));
    co_return all_told;
}

awaitable<bool> shared_quotas::settle_where_needed()
{
    open_store(false);
    const auto version = store_ ? store_->version() : -1;
    const bool is_due = is_due_ || version != version_;
    if (!is_due || !etcd_.is_there()) co_return true;
    is_due_ = false;
    const bool is_settled = co_await settle();
    is_due_ = is_due_ || !is_settled;
    version_ = version;
    co_return is_settled;
}

awaitable<> shared_quotas::run()
{
    for (;;) {
        std::string trouble;
        bool is_settled = false;
        try {
            is_settled = co_await settle_where_needed();
        } catch (const database_error& failure) {
            trouble = failure.what();
        }
        if (!trouble.empty() && trouble != trouble_) log::warning("quotas_not_shared", {{"reason", trouble}});
        trouble_ = std::move(trouble);
        const std::chrono::milliseconds pause = is_settled ? between_looks_at_store : after_trouble;
        co_await changed_.wait(event::clock::now() + pause);
    }
}

}  // namespace cmcp
