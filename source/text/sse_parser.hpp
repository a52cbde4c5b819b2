#pragma once

#include <cstddef>
#include <functional>
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

    std::size_t kept() const { return partial_.size() + data_.size() + name_.size(); }  ///< bytes of the event so far

private:
    void line(std::string_view text);
    void field(std::string_view name, std::string_view value);

    handler on_event_;
    std::string partial_;  // of a line
    std::string name_;
    std::string data_;
    bool has_data_ = false;
    bool after_cr_ = false;
};

}  // namespace cmcp
