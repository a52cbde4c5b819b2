#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Reads an event stream (HTML Living Standard section 9.2.6) from pieces of any size, without I/O.
class sse_parser {
public:
    /// `name` is "message" when the event has none; both views end with the call.
    using handler = std::function<void(std::string_view name, std::string_view data)>;

    explicit sse_parser(handler on_event) : on_event_(std::move(on_event)) {}

    void feed(std::string_view bytes);

    /// Bytes of the event so far, and of the id of the latest one.
    std::size_t buffered() const
    {
        return partial_.size() + data_.size() + name_.size() + size_of(next_id_) + size_of(last_id_);
    }

    /// Of the latest event that had one, with or without data; an empty one takes it back.
    const std::optional<std::string>& last_id() const { return last_id_; }
    std::optional<std::chrono::milliseconds> retry() const { return retry_; }

private:
    static std::size_t size_of(const std::optional<std::string>& id) { return id ? id->size() : 0; }
    void line(std::string_view text);
    void field(std::string_view name, std::string_view value);

    handler on_event_;
    std::string partial_;  // of a line
    std::string name_;
    std::string data_;
    std::optional<std::string> next_id_, last_id_;
    std::optional<std::chrono::milliseconds> retry_;
    bool id_is_new_ = false;
    bool has_data_ = false;
    bool after_cr_ = false;
};

}  // namespace cmcp
