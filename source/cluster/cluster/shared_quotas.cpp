#include "cluster/shared_quotas.hpp"

#include "cluster/sealed_entry.hpp"
#include "config/server_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view limit_kind = "limit";
constexpr auto limits_entry = "cmcp:limits";
constexpr std::string_view news_of_limits = ":limits";  // no principal is named so
constexpr std::chrono::milliseconds between_looks_at_store(400);
constexpr std::chrono::seconds after_trouble(2);
constexpr std::size_t entries_a_turn = 128;

std::string field_of(const stored_limit& one) { return one.name + " " + one.principal; }

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
    const auto* changed = row.if_contains("changed");
    if (changed != nullptr && changed->is_number()) one.changed = changed->to_number<double>();
    one.cleared = flag_of(row, "cleared");
    return one;
}

shared_quotas::shared_quotas(directory& told_in, const server_settings& config, quotas& limits)
    : directory_(told_in), config_(config), limits_(limits)
{
    directory_.listen([this](const std::string& text) {
        if (text == news_of_limits) tell_again();
    });
}

void shared_quotas::tell_again()
{
    is_due_ = true;
    changed_.notify();
}

void shared_quotas::open_store(bool make)
{
    if (!store_ && make) store_ = std::make_unique<identity_store>(identity_store::file_in(config_.sandbox_root));
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
}

// Of a principal and a limit that are not those of the field, an entry was put in another one's place. Each signature
// is checked, and a directory may hold very many entries, so others have their turn in between.
awaitable<shared_quotas::rows> shared_quotas::take(directory_reply hash)
{
    rows all;
    bool is_new = false;
    auto executor = co_await asio::this_coro::executor;
    for (std::size_t i = 0; i + 1 < hash.items.size(); i += 2) {
        if (i % entries_a_turn == entries_a_turn - 2) co_await asio::post(executor, asio::use_awaitable);
        auto row = opened_limit(config_.link_key, hash.items[i + 1].text);
        if (!row || field_of(*row) != hash.items[i].text) continue;
        open_store(true);
        is_new = store_->take_limit(*row) || is_new;
        all.emplace(hash.items[i].text, *std::move(row));
    }
    if (is_new) limits_.look_again();
    co_return all;
}

// Two servers may tell a limit at once, and the later change is not always the last one that is written: then the
// server that has it tells it again, because it hears of the other's news.
std::vector<directory_command> shared_quotas::missing_in(const rows& known_rows)
{
    std::vector<directory_command> commands;
    if (!store_) return commands;
    for (const auto& own : store_->limit_changes()) {
        const auto known = known_rows.find(field_of(own));
        if (known != known_rows.end() && is_same(known->second, own)) continue;
        commands.push_back({"HSET", limits_entry, field_of(own), sealed_limit(config_.link_key, own)});
    }
    if (!commands.empty()) commands.push_back({"PUBLISH", directory::news_channel, std::string(news_of_limits)});
    return commands;
}

// False: the directory did not answer.
awaitable<bool> shared_quotas::settle()
{
    std::vector<directory_command> question;
    question.push_back({"HGETALL", limits_entry});
    auto answers = co_await directory_.ask(std::move(question));
    if (answers.empty()) co_return false;
    const auto known_rows = co_await take(std::move(answers[0]));
    auto commands = missing_in(known_rows);
    commands.push_back({"EXPIRE", limits_entry, told_for_seconds});
    const auto done = co_await directory_.ask(std::move(commands));
    co_return !done.empty();
}

awaitable<bool> shared_quotas::settle_where_needed()
{
    open_store(false);
    const auto version = store_ ? store_->version() : -1;
    const auto connection = directory_.connections();
    const bool is_due = is_due_ || version != version_ || connection != connection_;
    if (!is_due || !directory_.is_there()) co_return true;
    is_due_ = false;
    const bool is_settled = co_await settle();
    is_due_ = is_due_ || !is_settled;
    version_ = version;
    connection_ = connection;
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
