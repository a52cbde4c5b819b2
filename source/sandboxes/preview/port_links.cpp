#include "preview/port_links.hpp"

#include "runs/sandbox_error.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "text/random_id.hpp"
#include "text/signature.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t nonce_bytes = 8;
constexpr std::size_t signature_digits = 32;

using uses_of_link = std::vector<std::weak_ptr<sandbox_activities::entry>>;

void end_all(const uses_of_link& uses)
{
    for (const auto& each : uses)
        if (const auto entry = each.lock())
            entry->cancel(sandbox_error("NotFound", "The link to this port has ended; expose_port makes a new one."));
}

}  // namespace

port_links::port_links(asio::any_io_executor executor) : executor_(std::move(executor)), key_(random_id(key_bytes)) {}

// The owner's name is the last part, because it is the only one that may hold any character.
std::string port_links::sign(const port_link& unsigned_link, std::string_view named) const
{
    const std::string text = std::string(named) + '\n' + unsigned_link.owner;
    return signature_of(key_, text).substr(0, signature_digits);
}

port_link port_links::show(std::string owner, std::string sandbox, std::uint16_t port, std::chrono::seconds life)
{
    if (!links_->contains({sandbox, port}) && of(sandbox).size() >= most_of_sandbox)
        throw sandbox_error("QuotaExceeded", "A sandbox shows at most " + std::to_string(most_of_sandbox) +
                                                 " ports; withdraw one with unexpose_port first.");
    withdraw(sandbox, port);
    port_link fresh{std::move(owner), std::move(sandbox), port, 0, {}};
    fresh.expires = sandbox_manager::now() + std::chrono::duration<double>(life).count();
    const std::string named = std::to_string(port) + "." + fresh.sandbox + "." +
                              std::to_string(static_cast<std::int64_t>(fresh.expires)) + "." + random_id(nonce_bytes);
    fresh.token = named + "." + sign(fresh, named);
    const place at{fresh.sandbox, port};
    kept_link& kept = (*links_)[at];
    kept.link = fresh;
    end_in_time(at, kept, life);
    return fresh;
}

void port_links::end_in_time(const place& of, kept_link& link, std::chrono::seconds life)
{
    link.end = std::make_unique<asio::steady_timer>(executor_, life);
    link.end->async_wait([all = std::weak_ptr(links_), of](const boost::system::error_code& withdrawn) {
        const auto links = all.lock();
        if (withdrawn || !links || !links->contains(of)) return;
        end_all(links->at(of).uses);
        links->erase(of);
    });
}

bool port_links::withdraw(const std::string& sandbox, std::uint16_t port)
{
    const auto entry = links_->find({sandbox, port});
    if (entry == links_->end()) return false;
    const auto uses = std::move(entry->second.uses);
    links_->erase(entry);
    end_all(uses);
    return true;
}

void port_links::withdraw_all(const std::string& sandbox)
{
    for (const port_link& each : of(sandbox)) withdraw(sandbox, each.port);
}

std::vector<port_link> port_links::of(const std::string& sandbox) const
{
    std::vector<port_link> all;
    for (auto at = links_->lower_bound({sandbox, 0}); at != links_->end() && at->first.first == sandbox; ++at)
        all.push_back(at->second.link);
    return all;
}

std::optional<port_link> port_links::find(std::string_view token) const
{
    const auto parts = split(token, '.');
    std::uint16_t port = 0;
    constexpr std::size_t longest = 200;
    if (token.size() > longest || parts.size() != 5) return std::nullopt;
    std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), port);
    const auto entry = links_->find({std::string(parts[1]), port});
    if (entry == links_->end()) return std::nullopt;
    const port_link& link = entry->second.link;
    const auto named = token.substr(0, token.size() - parts[4].size() - 1);
    const bool valid = same_secret(token, link.token) && same_secret(parts[4], sign(link, named));
    return valid && sandbox_manager::now() < link.expires ? std::optional(link) : std::nullopt;
}

bool port_links::use(const port_link& by, std::weak_ptr<sandbox_activities::entry> connection)
{
    const auto entry = links_->find({by.sandbox, by.port});
    if (entry == links_->end()) return false;
    auto& uses = entry->second.uses;
    std::erase_if(uses, [](const auto& each) { return each.expired(); });
    if (uses.size() >= most_uses) return false;
    uses.push_back(std::move(connection));
    return true;
}

void port_links::end_uses()
{
    for (const auto& [at, kept] : *links_) end_all(kept.uses);
}

}  // namespace cmcp
