#include "audit/collector.hpp"

#include "audit/record_text.hpp"
#include "jsonrpc/canonical_json.hpp"

#include <algorithm>

namespace cmcp::audit {

namespace {

// Longer ones would take much memory until they are written.
constexpr std::size_t longest_arguments = 16 * 1024;
constexpr std::size_t most_batch_memory = 4u << 20;

}  // namespace

void batch::clear()
{
    entries.clear();
    text.clear();
    dropped = 0;
    if (text.capacity() > most_batch_memory) *this = {};
}

void collector::add(kind is, log::fields with, const json::object* arguments, std::string_view digest)
{
    batch::entry entry{std::chrono::system_clock::now(), 0, 0, is, false};
    bool tell = false;
    {
        const std::lock_guard only(mutex_);
        const auto due = shares_.next();
        if (!shares_.takes(is, with)) {
            if (shares_.next() != due) wake_.notify_one();
            return;
        }
        if (records_.size() >= limits_.most) {
            ++records_.dropped;
            return;
        }
        auto& text = records_.text;
        const auto begin = text.size();
        append_fields(text, with);
        entry.fields = static_cast<std::uint32_t>(text.size() - begin);
        entry.is_digest = !digest.empty();
        text.append(digest);
        if (arguments != nullptr && !entry.is_digest) jsonrpc::append_canonical(text, *arguments);
        if (text.size() - begin - entry.fields > longest_arguments) {
            const auto whole = digests_.of({std::string_view(text).substr(begin + entry.fields)});
            text.resize(begin + entry.fields);
            text.append(whole);
            entry.is_digest = true;
        }
        entry.arguments = static_cast<std::uint32_t>(text.size() - begin - entry.fields);
        records_.entries.push_back(entry);
        tell = std::exchange(waits_, false);
    }
    if (tell) wake_.notify_one();
}

bool collector::is_full()
{
    const std::lock_guard only(mutex_);
    return records_.size() >= limits_.full;
}

bool collector::wait(clock::time_point until)
{
    std::unique_lock lock(mutex_);
    waits_ = records_.empty();
    for (bool done = false; !done;) {
        const auto counted = shares_.next();
        wake_.wait_until(lock, std::min(until, counted),
                         [&] { return stopped_ || !records_.empty() || shares_.next() != counted; });
        const auto now = clock::now();
        done = stopped_ || !records_.empty() || now >= until || now >= shares_.next();
    }
    waits_ = false;
    return !stopped_;
}

bool collector::rest(clock::time_point until)
{
    std::unique_lock lock(mutex_);
    return !wake_.wait_until(lock, until, [this] { return stopped_; });
}

void collector::take(batch& into)
{
    into.clear();
    const std::lock_guard only(mutex_);
    add_sums(shares_.ended());
    std::swap(into, records_);
}

void collector::settle()
{
    const std::lock_guard only(mutex_);
    add_sums(shares_.all());
}

// There are few of them, so they find room where others do not.
void collector::add_sums(std::vector<record_shares::sum> sums)
{
    for (const auto& each : sums) {
        batch::entry entry{std::chrono::system_clock::now(), 0, 0, each.is, false};
        entry.fields = static_cast<std::uint32_t>(each.fields.size());
        records_.text.append(each.fields);
        records_.entries.push_back(entry);
    }
}

void collector::stop()
{
    const std::lock_guard only(mutex_);
    stopped_ = true;
    wake_.notify_one();
}

}  // namespace cmcp::audit
