#include "log/record_queue.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp::log {

namespace {

constexpr std::size_t most_records = 8192;
constexpr std::size_t longest_attribute = 4096;

json::value owned(const field_value& value)
{
    if (const auto* text = std::get_if<std::string_view>(&value))
        return json::value(escape_controls(text->substr(0, longest_attribute)));
    return std::get<json::value>(value);
}

record record_of(std::chrono::system_clock::time_point when, level severity, std::string_view event, const fields& with)
{
    record one{when, severity, std::string(event), {}, {}, {}};
    for (const auto& [name, value] : with) {
        if (std::holds_alternative<std::monostate>(value)) continue;
        const auto* text = std::get_if<std::string_view>(&value);
        if (text != nullptr && name == "trace")
            one.trace = *text;
        else if (text != nullptr && name == "span")
            one.span = *text;
        else
            one.attributes.emplace_back(name, owned(value));
    }
    return one;
}

}  // namespace

void record_queue::close()
{
    open_ = false;
    const std::lock_guard only(mutex_);
    waiting_.clear();
}

void record_queue::add(std::chrono::system_clock::time_point when, level severity, std::string_view event,
                       const fields& with)
{
    auto one = record_of(when, severity, event, with);
    const std::lock_guard only(mutex_);
    if (waiting_.size() == most_records) {
        waiting_.pop_front();
        ++dropped_;
    }
    waiting_.push_back(std::move(one));
}

std::vector<record> record_queue::take(std::size_t most)
{
    const std::lock_guard only(mutex_);
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
    std::vector<record> batch(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return batch;
}

std::size_t record_queue::size() const
{
    const std::lock_guard only(mutex_);
    return waiting_.size();
}

std::uint64_t record_queue::dropped() const
{
    const std::lock_guard only(mutex_);
    return dropped_;
}

record_queue& records()
{
    static record_queue queue;
    return queue;
}

}  // namespace cmcp::log
