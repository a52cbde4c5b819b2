#include "cluster/shared_keys.hpp"

#include "cluster/sealed_entry.hpp"
#include "config/server_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <utility>

namespace cmcp {

namespace {

std::string entry_name(const std::string& id) { return "cmcp:key:" + id; }

double seconds_of(const json::object& row, std::string_view name)
{
    const auto* number = row.if_contains(name);
    return number != nullptr && number->is_number() ? number->to_number<double>() : 0;
}

json::object described(const key_record& key)
{
    return {{"id", key.id},           {"digest", key.digest},   {"principal", key.principal},
            {"scopes", key.scopes},   {"profile", key.profile}, {"networks", key.networks},
            {"expires", key.expires}, {"revoked", key.revoked}};
}

}  // namespace

std::string shared_keys::sealed(const key_record& key) const
{
    return sealed_entry(config_.link_key, "key", jsonrpc::write_json(described(key)));
}

std::optional<key_record> shared_keys::opened(const std::string& text, std::string_view id) const
{
    const auto said = opened_entry(config_.link_key, "key", text);
    const auto row = said ? jsonrpc::read_object(*said) : json::object();
    if (view_of(row, "id") != id) return std::nullopt;
    key_record key;
    key.id = id;
    key.digest = view_of(row, "digest");
    key.principal = view_of(row, "principal");
    key.scopes = view_of(row, "scopes");
    key.profile = view_of(row, "profile");
    key.networks = view_of(row, "networks");
    key.expires = seconds_of(row, "expires");
    key.revoked = seconds_of(row, "revoked");
    return key;
}

awaitable<> shared_keys::tell(bool everything)
{
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
    if (everything) told_.clear();
    if (!store_ || !directory_.is_there()) co_return;
    std::vector<directory_command> commands;
    std::map<std::string, std::string> news;
    for (const auto& key : store_->keys()) {
        auto text = sealed(key);
        if (const auto before = told_.find(key.id); before != told_.end() && before->second == text) continue;
        commands.push_back({"SET", entry_name(key.id), text, "EX", told_for_seconds});
        news.emplace(key.id, std::move(text));
    }
    if (commands.empty()) co_return;
    const auto answers = co_await directory_.ask(std::move(commands));
    if (answers.empty()) co_return;
    for (auto& [id, text] : news) told_[id] = std::move(text);
}

awaitable<key_elsewhere> shared_keys::find(std::string id)
{
    std::vector<directory_command> question;
    question.push_back({"GET", entry_name(id)});
    const auto answers = co_await directory_.ask(std::move(question));
    key_elsewhere look;
    look.is_answered = !answers.empty();
    if (look.is_answered && answers[0].is == directory_reply::kind::text) look.record = opened(answers[0].text, id);
    co_return look;
}

awaitable<std::optional<bool>> shared_keys::first_use(std::string digest, std::chrono::seconds keep)
{
    std::vector<directory_command> claim;
    claim.push_back({"SET", "cmcp:proof:" + digest, "1", "NX", "EX", std::to_string(keep.count())});
    const auto answers = co_await directory_.ask(std::move(claim));
    std::optional<bool> first;
    using kind = directory_reply::kind;
    const bool is_answered = !answers.empty() && (answers[0].is == kind::text || answers[0].is == kind::nothing);
    if (is_answered) first = answers[0].is == kind::text;
    co_return first;
}

}  // namespace cmcp
