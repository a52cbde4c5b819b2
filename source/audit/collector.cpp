#include "audit/collector.hpp"

#include "audit/record_text.hpp"
#include "jsonrpc/canonical_json.hpp"

namespace cmcp::audit {

namespace {

// Longer ones would take much memory until they are written.
constexpr std::size_t longest_arguments = 16 * 1024;
constexpr std::size_t most_memory_kept = 4u << 20;

}  // namespace

void batch::clear()
{
    entries.clear();
    text.clear();
    dropped = 0;
    if (text.capacity() > most_memory_kept) *this = {};
}

void collector::add(kind is, log::fields with, const json::object* arguments)
{
    batch::entry entry{std::chrono::system_clock::now(), 0, 0, is, false};
    bool tell = false;
    {
        const std::lock_guard only(mutex_);
        if (records_.size() >= limits_.most) {
            ++records_.dropped;
            return;
        }
        auto& text = records_.text;
        const auto begin = text.size();
        append_fields(text, with);
        entry.fields = static_cast<std::uint32_t>(text.size() - begin);
        if (arguments != nullptr) jsonrpc::append_canonical(text, *arguments);
        if (text.size() - begin - entry.fields > longest_arguments) {
            const auto digest = digests_.of({std::string_view(text).substr(begin + entry.fields)});
            text.resize(begin + entry.fields);
            text.append(digest);
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
    wake_.wait_until(lock, until, [this] { return stopped_ || !records_.empty(); });
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
    std::swap(into, records_);
}

void collector::stop()
{
    const std::lock_guard only(mutex_);
    stopped_ = true;
    wake_.notify_one();
}

}  // namespace cmcp::audit
