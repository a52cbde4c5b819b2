#include "text/sse_parser.hpp"

#include "text/number.hpp"

#include <cstdint>
#include <utility>

namespace cmcp {

void sse_parser::feed(std::string_view bytes)
{
    while (!bytes.empty()) {
        if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
        after_cr_ = false;
        auto end = bytes.find_first_of("\r\n");
        if (end == std::string_view::npos) {
            partial_.append(bytes);
            return;
        }
        after_cr_ = bytes[end] == '\r';
        if (partial_.empty()) {
            line(bytes.substr(0, end));
        } else {
            partial_.append(bytes.substr(0, end));
            line(partial_);
            partial_.clear();
        }
        bytes.remove_prefix(end + 1);
    }
}

void sse_parser::line(std::string_view text)
{
    if (text.empty()) {
        if (std::exchange(id_is_new_, false)) last_id_ = next_id_;
        if (has_data_) on_event_(name_.empty() ? std::string_view("message") : name_, data_);
        name_.clear();
        data_.clear();
        has_data_ = false;
        return;
    }
    auto colon = text.find(':');
    if (colon == 0) return;
    auto value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    field(text.substr(0, colon), value);
}

void sse_parser::field(std::string_view name, std::string_view value)
{
    if (name == "event") name_ = value;
    if (name == "id" && value.find('\0') == std::string_view::npos) {
        next_id_ = std::string(value);
        id_is_new_ = true;
    }
    if (name == "retry")
        if (const auto number = read_number<std::uint32_t>(value)) retry_ = std::chrono::milliseconds(*number);
    if (name != "data") return;
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
}

}  // namespace cmcp
