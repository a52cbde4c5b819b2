#include "jsonrpc/absent.hpp"
#include "jsonrpc/broken_text.hpp"
#include "jsonrpc/canonical_json.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/message.hpp"
#include "text/ascii.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

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
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

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

// Half of a character, as a text has at its end that was cut by UTF-16 units. U+FFFD instead of it would get into files
// and commands without a word.
bool ends_in_half(std::string_view text)
{
    if (text.size() < 6) return false;
    const auto escape = lower_case(text.substr(text.size() - 6));
    return escape.starts_with("\\ud") && std::string_view("89ab").find(escape[3]) != std::string_view::npos;
}

// For the library, what follows the first half is a syntax error, at the next character or at the one behind it.
bool is_lone_surrogate(const json::error_code& failure, std::string_view text, std::size_t at)
{
    if (failure == json::error::illegal_leading_surrogate || failure == json::error::illegal_trailing_surrogate)
        return true;
    return failure == json::error::syntax && at > 0 && at <= text.size() &&
           (ends_in_half(text.substr(0, at)) || ends_in_half(text.substr(0, at - 1)));
}

// The position is given in bytes, so that a client's author finds it in a dump.
std::string parse_failure(const json::error_code& failure, std::string_view text, std::size_t at,
                          const decode_limits& limits)
{
    if (failure == json::error::too_deep)
        return "Parse error: the message is nested deeper than " + std::to_string(limits.depth) + " levels";
    if (!is_utf8(text)) return "Parse error: the message is not valid UTF-8";
    if (failure == json::error::incomplete) return "Parse error: the message is not complete JSON";
    if (is_lone_surrogate(failure, text, at))
        return "Parse error: the escape before byte " + std::to_string(at) +
               " is half of a character (a lone surrogate, as \\ud83d without \\ude00); send the whole character";
    return "Parse error: " + failure.message() + " at byte " + std::to_string(at);
}

constexpr std::size_t longest_id = 1024;  // each message of a request repeats it

bool valid_id(const json::value& id)
{
    const auto* text = id.if_string();
    return (text != nullptr && text->size() <= longest_id) || id.is_int64() || id.is_uint64();
}

decode_error broken(std::string_view text, const std::string& sentence)
{
    auto id = id_in_broken(text);
    make_whole(id);
    return {rpc_code::parse_error, sentence, valid_id(id) ? std::move(id) : json::value()};
}

json_bounds bounds_of(const decode_limits& limits)
{
    auto bounds = limits.bounds;
    bounds.depth = limits.depth;
    return bounds;
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
    if (failure) throw broken(text, parse_failure(failure, text, read, limits));
    json::value value = parser.release();
    if (!only_finite_numbers(value)) throw broken(text, "Parse error: a number is out of range");
    return value;
}

class message_reader {
public:
    explicit message_reader(json::object& object) : object_(object)
    {
        auto* id = object_.if_contains("id");
        if (id) make_whole(*id);
        if (id && valid_id(*id)) id_ = *id;
    }

    message read()
    {
        const auto* version = object_.if_contains("jsonrpc");
        if (!version || !version->is_string() || version->get_string() != "2.0")
            refuse("`jsonrpc` must be the string \"2.0\"");
        const auto* id = object_.if_contains("id");
        if (object_.contains("method")) {
            if (id && !valid_id(*id))
                refuse("`id` must be a string or an integer" +
                       std::string(id->is_string() ? "; a string has at most 1024 bytes" : ""));
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
        if (!params || is_absent(*params, json::kind::object)) return {};
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

// A request that is answered with the refusal, in its turn among the others of the batch.
request refused(decode_error error)
{
    request member;
    member.id = std::move(error.id);
    member.refusal = std::make_shared<const rpc_error>(std::move(error));
    return member;
}

// The text behind the first error of a batch has not been counted yet.
json::value parse_member(std::string_view text, const decode_limits& limits)
{
    if (text.size() <= longest_on_loop) return parse(text, limits);
    const auto bounds = bounds_of(limits);
    json_reader reader(bounds);
    reader.begin(text);
    reader.read_until(std::chrono::steady_clock::time_point::max());
    if (!reader.fault()) return reader.take();
    const auto sentence = reader.fault()->sentence("the message", bounds);
    throw broken(text, sentence.empty() ? parse_failure(reader.fault()->code, text, reader.fault()->at, limits)
                                        : "Parse error: " + sentence);
}

// Nothing where the text is no array whose members could be told apart.
std::optional<payload> read_broken_batch(std::string_view text, const decode_limits& limits)
{
    const auto members = members_in_broken(text, limits.batch);
    if (!members) return std::nullopt;
    payload decoded{.batch = true, .messages = {}};
    for (const auto member : *members) {
        try {
            json::value value = parse_member(member, limits);
            decoded.messages.push_back(read_message(value));
        } catch (decode_error& error) {
            decoded.messages.push_back(refused(std::move(error)));
        }
    }
    return decoded;
}

payload read_batch(json::array& members, const decode_limits& limits)
{
    check_batch_length(members.size(), limits);
    payload decoded{.batch = true, .messages = {}};
    decoded.messages.reserve(members.size());
    for (auto& member : members) {
        try {
            decoded.messages.push_back(read_message(member));
        } catch (decode_error& error) {
            decoded.messages.push_back(refused(std::move(error)));
        }
    }
    return decoded;
}

}  // namespace

namespace {

std::string_view without_mark(std::string_view text)
{
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    return text;
}

payload messages_in(json::value& value, const decode_limits& limits)
{
    if (auto* batch = value.if_array()) return read_batch(*batch, limits);
    payload decoded;
    decoded.messages.push_back(read_message(value));
    return decoded;
}

// Nobody reads on in what is over the bounds, not even to tell the members of a batch apart.
payload messages_in_broken(std::string_view text, const json_fault& fault, const decode_limits& limits)
{
    using kind = json_fault::kind;
    if (fault.is == kind::too_many_values || fault.is == kind::too_many_members)
        throw decode_error(rpc_code::invalid_request,
                           "Invalid request: " + fault.sentence("the message", limits.bounds), broken(text, {}).id);
    if (auto batch = read_broken_batch(text, limits)) return std::move(*batch);
    if (fault.is == kind::number_out_of_range) throw broken(text, "Parse error: a number is out of range");
    throw broken(text, parse_failure(fault.code, text, fault.at, limits));
}

// Models write the arguments as text, and some clients pass that on unread.
void read_text(json::value& arguments, const json_bounds& bounds)
{
    const auto& text = arguments.get_string();
    auto read = text.starts_with("{") ? read_bounded(text, bounds) : std::nullopt;
    if (read && read->is_object()) arguments = std::move(*read);
}

constexpr auto any_length = std::numeric_limits<std::size_t>::max();

// Members of params that may be long. What reads the others need not look at their size.
std::size_t longest_member(std::string_view name)
{
    constexpr std::size_t longest_state = 1 << 20;
    if (name == "arguments" || name == "inputResponses") return any_length;
    return name == "requestState" ? longest_state : longest_on_loop;
}

void refuse_long_members(request& call)
{
    for (auto& [name, value] : call.params) {
        const auto most = longest_member(name);
        if (most == any_length || json_size(value) <= most) continue;
        const auto shown = std::string(name.substr(0, 100));
        call.refusal = std::make_shared<const rpc_error>(
            rpc_code::invalid_params, "Invalid params: `" + shown + "` is longer than " + std::to_string(most) +
                                          " bytes, which only `arguments` and `inputResponses` may be");
        value = nullptr;
    }
}

// Nobody is answered, and nothing reads them.
void drop_long_members(notification& message)
{
    for (auto& [name, value] : message.params)
        if (json_size(value) > longest_on_loop) value = nullptr;
}

// The rest of the work over the arguments, while this is no io thread.
void note_arguments(payload& decoded, const json_bounds& bounds, bool digests)
{
    for (auto& each : decoded.messages) {
        if (auto* one_way = std::get_if<notification>(&each)) drop_long_members(*one_way);
        auto* call = std::get_if<request>(&each);
        if (call == nullptr) continue;
        call->is_long = true;
        refuse_long_members(*call);
        auto* arguments = call->params.if_contains("arguments");
        if (arguments != nullptr && arguments->is_string()) read_text(*arguments, bounds);
        if (digests && arguments != nullptr && arguments->is_object())
            call->digest = canonical_digest(arguments->get_object());
    }
}

}  // namespace

payload decode(std::string_view text, const decode_limits& limits)
{
    text = without_mark(text);
    json::value value;
    try {
        value = parse(text, limits);
    } catch (const decode_error&) {
        if (auto batch = read_broken_batch(text, limits)) return std::move(*batch);
        throw;
    }
    return messages_in(value, limits);
}

message_decoder::message_decoder(std::string text, const decode_limits& limits)
    : text_(std::move(text)), limits_(limits), reader_(bounds_of(limits))
{
}

std::optional<payload> message_decoder::decode_until(std::chrono::steady_clock::time_point until)
{
    const auto text = without_mark(text_);
    if (!std::exchange(begun_, true)) reader_.begin(text);
    if (!reader_.read_until(until)) return std::nullopt;
    payload decoded;
    if (const auto& fault = reader_.fault()) {
        decoded = messages_in_broken(text, *fault, limits_);
    } else {
        auto value = reader_.take();
        decoded = messages_in(value, limits_);
    }
    note_arguments(decoded, bounds_of(limits_), limits_.digests);
    text_ = std::string();
    return decoded;
}

}  // namespace cmcp::jsonrpc
