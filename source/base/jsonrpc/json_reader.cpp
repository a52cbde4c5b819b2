#include "jsonrpc/json_reader.hpp"

#include "jsonrpc/exact_values.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <vector>

namespace cmcp::jsonrpc {

namespace {

constexpr std::size_t piece_size = 64 * 1024;  // bytes between two looks at the clock

// Counts what a text holds before it is parsed. Text that is no JSON is counted somehow: the parser refuses it.
class value_count {
public:
    explicit value_count(const json_bounds& bounds) : bounds_(bounds) {}

    std::optional<json_fault::kind> add(std::string_view piece)
    {
        for (const char c : piece) {
            add(c);
            if (values_ > bounds_.values) return json_fault::kind::too_many_values;
            if (too_many_members_) return json_fault::kind::too_many_members;
        }
        return std::nullopt;
    }

private:
    void add(char c)
    {
        if (escaped_) {
            escaped_ = false;
        } else if (in_text_) {
            escaped_ = c == '\\';
            in_text_ = c != '"';
        } else {
            add_outside_of_text(c);
        }
    }

    void add_outside_of_text(char c)
    {
        switch (c) {
            case '"':
                in_text_ = true;
                return;
            case ',':
                ++values_;
                return;
            case '{':
            case '[':
                ++values_;
                if (members_.size() <= bounds_.depth) members_.push_back(0);
                return;
            case '}':
            case ']':
                if (!members_.empty()) members_.pop_back();
                return;
            case ':':
                too_many_members_ = !members_.empty() && ++members_.back() > bounds_.members;
                return;
            default:
                return;
        }
    }

    const json_bounds& bounds_;
    std::vector<std::size_t> members_;  // of the objects that are open, the innermost last; those of an array are 0
    std::size_t values_ = 0;
    bool in_text_ = false;
    bool escaped_ = false;
    bool too_many_members_ = false;
};

json_fault::kind kind_of(const json::error_code& code)
{
    if (code == json::error::too_deep) return json_fault::kind::too_deep;
    return code == json::error::exponent_overflow ? json_fault::kind::number_out_of_range : json_fault::kind::syntax;
}

json::parse_options options_of(const json_bounds& bounds)
{
    json::parse_options options;
    options.max_depth = bounds.depth;
    return options;
}

}  // namespace

std::string json_fault::sentence(std::string_view subject, const json_bounds& bounds) const
{
    const auto whole = std::string(subject);
    switch (is) {
        case kind::too_deep:
            return whole + " is nested deeper than " + std::to_string(bounds.depth) + " levels";
        case kind::too_many_values:
            return whole + " holds more than " + std::to_string(bounds.values) +
                   " values (items of arrays and members of objects); send a long list as a text or a file";
        case kind::too_many_members:
            return whole + " holds an object with more than " + std::to_string(bounds.members) +
                   " members; send them as a text or a file";
        case kind::number_out_of_range:
            return "a number is out of range";
        case kind::syntax:
            break;
    }
    return {};
}

struct json_reader::state {
    explicit state(const json_bounds& limits) : bounds(limits), parser(options_of(limits))
    {
        parser.handler().finite_alone = true;
    }

    void read_piece()
    {
        const auto piece = text.substr(at, piece_size);
        if (const auto over = count.add(piece)) {
            fault = json_fault{*over, {}, at};
            return;
        }
        const bool more = at + piece.size() < text.size();
        json::error_code failure;
        const auto size = parser.write_some(more, piece.data(), piece.size(), failure);
        at += size;
        if (!failure && size != piece.size()) failure = json::error::extra_data;
        if (failure) fault = json_fault{kind_of(failure), failure, at};
        is_complete = !more;
    }

    const json_bounds bounds;
    std::string_view text;
    std::size_t at = 0;
    value_count count{bounds};
    json::basic_parser<exact_values> parser;
    std::optional<json_fault> fault;
    bool is_complete = false;
};

json_reader::json_reader(json_bounds bounds) : state_(std::make_unique<state>(bounds)) {}
json_reader::json_reader(json_reader&&) noexcept = default;
json_reader& json_reader::operator=(json_reader&&) noexcept = default;
json_reader::~json_reader() = default;

void json_reader::begin(std::string_view text)
{
    const auto bounds = state_->bounds;
    state_ = std::make_unique<state>(bounds);
    state_->text = text;
    state_->parser.handler().stack.reset();
}

bool json_reader::read_until(std::chrono::steady_clock::time_point until)
{
    while (!state_->fault && !state_->is_complete) {
        state_->read_piece();
        if (std::chrono::steady_clock::now() >= until) break;
    }
    if (state_->fault) state_->parser.handler().stack.reset();  // what was made goes here, and not where this goes
    return state_->fault || state_->is_complete;
}

const std::optional<json_fault>& json_reader::fault() const { return state_->fault; }

json::value json_reader::take() { return state_->parser.handler().stack.release(); }

std::optional<json::value> read_bounded(std::string_view text, const json_bounds& bounds)
{
    json_reader reader(bounds);
    reader.begin(text);
    reader.read_until(std::chrono::steady_clock::time_point::max());
    if (reader.fault()) return std::nullopt;
    return reader.take();
}

}  // namespace cmcp::jsonrpc
