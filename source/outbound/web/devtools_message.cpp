#include "web/devtools_message.hpp"

#include "jsonrpc/json_reader.hpp"
#include "text/utf8_text.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t escape_length = 6;  // \uXXXX
constexpr jsonrpc::json_bounds bounds{.depth = 128, .values = most_devtools_values, .members = most_devtools_values};

// The code unit that the escape at `at` stands for; 0: there is no escape of that kind.
unsigned long unit_at(const std::string& text, std::size_t at)
{
    if (at + escape_length > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    return std::strtoul(text.substr(at + 2, 4).c_str(), nullptr, 16);
}

bool is_high(unsigned long unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned long unit) { return unit >= 0xDC00 && unit < 0xE000; }

void replace_half_pairs(std::string& text)
{
    for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
        const auto unit = unit_at(text, at);
        if (is_high(unit) && is_low(unit_at(text, at + escape_length))) {
            at += 2 * escape_length;
            continue;
        }
        if (is_high(unit) || is_low(unit)) text.replace(at + 2, 4, "fffd");
        at += 2;
    }
}

class messages_parser {
public:
    explicit messages_parser(std::string messages) : messages_(std::move(messages)) {}

    std::optional<std::vector<json::object>> parse_until(std::chrono::steady_clock::time_point until)
    {
        while (next_ < messages_.size() || parsing_) {
            if (!parsing_) begin_next();
            if (!parser_.read_until(until)) return std::nullopt;
            if (const auto& fault = parser_.fault())
                mend(*fault);
            else
                keep(parser_.take());
            if (std::chrono::steady_clock::now() >= until) return std::nullopt;
        }
        return std::move(parsed_);
    }

private:
    void begin(std::string_view text)
    {
        text_ = text;
        parser_.begin(text);
        parsing_ = true;
    }
    void begin_next()
    {
        const auto begins = std::exchange(next_, messages_.find('\0', next_) + 1);
        mended_ = false;
        begin(std::string_view(messages_).substr(begins, next_ - begins - 1));
    }
    void mend(const jsonrpc::json_fault& fault)
    {
        using kind = jsonrpc::json_fault::kind;
        if (fault.is == kind::too_deep) throw devtools_closed("the browser sent a message that is nested too deeply");
        if (fault.is == kind::too_many_values || fault.is == kind::too_many_members)
            throw devtools_closed("the browser sent a message of too many values");
        if (std::exchange(mended_, true)) throw devtools_closed("the browser sent what is no JSON object");
        mended_text_ = replace_invalid_utf8(text_);
        replace_half_pairs(mended_text_);
        begin(mended_text_);
    }
    void keep(json::value message)
    {
        if (!message.is_object()) throw devtools_closed("the browser sent what is no JSON object");
        parsed_.push_back(std::move(message.as_object()));
        parsing_ = false;
    }

    const std::string messages_;
    std::size_t next_ = 0;  // where the next message begins
    std::string mended_text_;
    std::string_view text_;  // of the message that is parsed
    bool parsing_ = false;
    bool mended_ = false;
    jsonrpc::json_reader parser_{bounds};
    std::vector<json::object> parsed_;
};

}  // namespace

sliced_work<std::vector<json::object>> parse_devtools(std::string messages)
{
    const auto parser = std::make_shared<messages_parser>(std::move(messages));
    return [parser](std::chrono::steady_clock::time_point until) { return parser->parse_until(until); };
}

}  // namespace cmcp
