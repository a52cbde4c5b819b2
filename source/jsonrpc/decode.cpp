#include "jsonrpc/message.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <cmath>

namespace {

// A short message is most often one piece of memory, in which a small result is built as well, and which goes with the
// last of its values. Long ones would hold on to too much of it.
class message_memory final : public boost::json::memory_resource {
public:
    message_memory() : all_(first_.data(), first_.size()) {}

private:
    void* do_allocate(std::size_t size, std::size_t align) override { return all_.allocate(size, align); }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const boost::json::memory_resource& other) const noexcept override { return this == &other; }

    std::array<unsigned char, 2048> first_;
    boost::json::monotonic_resource all_;
};

}  // namespace

template <>
struct boost::json::is_deallocate_trivial<message_memory> : std::true_type {
};

namespace cmcp::jsonrpc {

namespace {

constexpr std::size_t longest_in_arena = 16 * 1024;

// Boost.JSON reads 1e400 as infinity, which it could not write again.
bool only_finite_numbers(const json::value& value)
{
    if (const auto* number = value.if_double()) return std::isfinite(*number);
    if (const auto* array = value.if_array()) {
        for (const auto& item : *array)
            if (!only_finite_numbers(item)) return false;
    } else if (const auto* object = value.if_object()) {
        for (const auto& member : *object)
            if (!only_finite_numbers(member.value())) return false;
    }
    return true;
}

// The place is told by the byte, so that a client's author finds it in a dump.
std::string parse_failure(const json::error_code& failure, std::string_view text, std::size_t at,
                          const decode_limits& limits)
{
    if (failure == json::error::too_deep)
        return "Parse error: the message is nested deeper than " + std::to_string(limits.depth) + " levels";
    if (!is_utf8(text)) return "Parse error: the message is not valid UTF-8";
    if (failure == json::error::incomplete) return "Parse error: the message is not complete JSON";
    return "Parse error: " + failure.message() + " at byte " + std::to_string(at);
}

json::value parse(std::string_view text, const decode_limits& limits)
{
    json::parse_options options;
    options.max_depth = limits.depth;
    std::array<unsigned char, 4096> scratch;  // of the parser's own; what is parsed does not stay in it
    json::parser parser(json::storage_ptr(), options, scratch.data(), scratch.size());
    if (text.size() <= longest_in_arena) parser.reset(json::make_shared_resource<message_memory>());
    json::error_code failure;
    const std::size_t read = parser.write(text, failure);
    if (failure) throw decode_error(rpc_code::parse_error, parse_failure(failure, text, read, limits), nullptr);
    json::value value = parser.release();
    if (!only_finite_numbers(value))
        throw decode_error(rpc_code::parse_error, "Parse error: a number is out of range", nullptr);
    return value;
}

bool valid_id(const json::value& id) { return id.is_string() || id.is_int64() || id.is_uint64(); }

class message_reader {
public:
    explicit message_reader(json::object& object) : object_(object)
    {
        const auto* id = object_.if_contains("id");
        if (id && valid_id(*id)) id_ = *id;
    }

    message read()
    {
        const auto* version = object_.if_contains("jsonrpc");
        if (!version || !version->is_string() || version->get_string() != "2.0")
            refuse("`jsonrpc` must be the string \"2.0\"");
        const auto* id = object_.if_contains("id");
        if (object_.contains("method")) {
            if (id && !valid_id(*id)) refuse("`id` must be a string or an integer");
            return id ? message(read_request()) : message(notification{read_method(), read_params()});
        }
        if (object_.contains("result") || object_.contains("error")) return read_response();
        refuse("`method` is missing");
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const
    {
        throw decode_error(rpc_code::invalid_request, "Invalid request: " + reason, id_);
    }

    request read_request()
    {
        auto method = read_method();
        return {id_, std::move(method), read_params()};
    }

    std::string read_method() const
    {
        const auto& method = object_.at("method");
        if (!method.is_string() || method.get_string().empty()) refuse("`method` must be a string that is not empty");
        return std::string(method.get_string());
    }

    json::object read_params()
    {
        auto* params = object_.if_contains("params");
        if (!params) return {};
        if (!params->is_object())
            throw decode_error(rpc_code::invalid_params, "Invalid params: `params` must be an object", id_);
        return std::move(params->get_object());
    }

    response read_response()
    {
        if (object_.contains("result") && object_.contains("error"))
            refuse("a response holds either `result` or `error`, not both");
        response answer;
        answer.id = id_;
        if (auto* error = object_.if_contains("error")) {
            if (!error->is_object()) refuse("`error` must be an object");
            answer.error = std::move(error->get_object());
            return answer;
        }
        if (id_.is_null()) refuse("`id` must be a string or an integer");
        answer.result = std::move(object_.at("result"));
        return answer;
    }

    json::object& object_;
    json::value id_;
};

message read_message(json::value& value)
{
    if (!value.is_object())
        throw decode_error(rpc_code::invalid_request, "Invalid request: a message must be a JSON object", nullptr);
    return message_reader(value.get_object()).read();
}

void check_batch_length(std::size_t length, const decode_limits& limits)
{
    if (length == 0) throw decode_error(rpc_code::invalid_request, "Invalid request: the batch is empty", nullptr);
    if (length > limits.batch)
        throw decode_error(rpc_code::invalid_request,
                           "Invalid request: the batch holds more than " + std::to_string(limits.batch) + " messages",
                           nullptr);
}

}  // namespace

payload decode(std::string_view text, const decode_limits& limits)
{
    json::value value = parse(text, limits);
    payload decoded;
    auto* batch = value.if_array();
    if (!batch) {
        decoded.messages.push_back(read_message(value));
        return decoded;
    }
    check_batch_length(batch->size(), limits);
    decoded.batch = true;
    decoded.messages.reserve(batch->size());
    for (auto& item : *batch) decoded.messages.push_back(read_message(item));
    return decoded;
}

}  // namespace cmcp::jsonrpc
