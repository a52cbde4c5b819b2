#include "http/long_body.hpp"

#include "audit/sink.hpp"
#include "config/http_settings.hpp"
#include "http/route.hpp"
#include "jsonrpc/canonical_json.hpp"
#include "jsonrpc/json_reader.hpp"
#include "text/ascii.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

using body_ptr = std::shared_ptr<long_body>;
using left_flag = std::shared_ptr<std::atomic<bool>>;

bool is_blank(std::string_view text) { return text.find_first_not_of(white_space) == std::string_view::npos; }

// Holds the text as long as its value is read.
class body_on_pool {
public:
    body_on_pool(std::string text, const jsonrpc::decode_limits& limits)
        : text_(std::move(text)), bounds_(limits.bounds)
    {
        bounds_.depth = limits.depth;
        reader_ = jsonrpc::json_reader(bounds_);
        reader_.begin(text_);
    }
    body_on_pool(const body_on_pool&) = delete;
    body_on_pool& operator=(const body_on_pool&) = delete;

    std::optional<body_ptr> read_until(slice_end until, bool digests)
    {
        if (!reader_.read_until(until)) return std::nullopt;
        auto read = std::make_shared<long_body>();
        if (const auto& fault = reader_.fault(); fault && !is_blank(text_)) {
            read->problem = fault->sentence("The body", bounds_);
            if (read->problem.empty()) read->problem = "The body is not JSON: " + fault->code.message();
            read->problem += ".";
        } else if (!fault) {
            read->value = reader_.take();
            if (const auto* object = read->value.if_object(); digests && object != nullptr)
                read->digest = jsonrpc::canonical_digest(*object);
        }
        text_ = std::string();
        return read;
    }

private:
    std::string text_;
    jsonrpc::json_bounds bounds_;
    jsonrpc::json_reader reader_;
};

sliced_work<body_ptr> reading_value(std::string text, const jsonrpc::decode_limits& limits)
{
    const auto body = std::make_shared<body_on_pool>(std::move(text), limits);
    return [body, digests = limits.digests](slice_end until) { return body->read_until(until, digests); };
}

std::optional<body_ptr> decode_until(jsonrpc::message_decoder& decoder, slice_end until)
{
    auto read = std::make_shared<long_body>();
    try {
        auto messages = decoder.decode_until(until);
        if (!messages) return std::nullopt;
        read->messages = std::move(*messages);
    } catch (const jsonrpc::decode_error& refusal) {
        read->refusal = refusal;
    }
    return read;
}

sliced_work<body_ptr> reading_messages(std::string text, const jsonrpc::decode_limits& limits)
{
    const auto decoder = std::make_shared<jsonrpc::message_decoder>(std::move(text), limits);
    return [decoder](slice_end until) { return decode_until(*decoder, until); };
}

// Nobody waits for the rest once the client has left.
sliced_work<body_ptr> until_left(sliced_work<body_ptr> work, left_flag left)
{
    return [work = std::move(work), left = std::move(left)](slice_end until) {
        return left->load(std::memory_order_relaxed) ? std::optional(body_ptr()) : work(until);
    };
}

struct memory_share {
    memory_share(std::shared_ptr<memory_budget::part> part, std::size_t bytes) : of(std::move(part)), size(bytes)
    {
        of->add(size);
    }
    memory_share(const memory_share&) = delete;
    memory_share& operator=(const memory_share&) = delete;
    ~memory_share() { of->remove(size); }

    std::shared_ptr<memory_budget::part> of;
    std::size_t size;
};

struct watch_for_end {
    watch_for_end(client_socket& of, left_flag left) : peer(of)
    {
        peer.watch([left = std::move(left)] { left->store(true, std::memory_order_relaxed); });
    }
    watch_for_end(const watch_for_end&) = delete;
    watch_for_end& operator=(const watch_for_end&) = delete;
    ~watch_for_end() { peer.unwatch(); }

    client_socket& peer;
};

}  // namespace

jsonrpc::decode_limits decode_limits_of(const http_settings& config)
{
    jsonrpc::decode_limits limits;
    limits.depth = config.json_depth;
    limits.digests = audit::current() != nullptr;
    return limits;
}

bool has_long_body(const http_request& request)
{
    return request.body.size() > jsonrpc::longest_on_loop && request.target != nullptr &&
           request.target->takes_long_json;
}

awaitable<bool> read_long_body(client_socket& peer, http_request& request, blocking_pool& pool,
                               const http_settings& config, memory_budget& budget)
{
    const auto limits = decode_limits_of(config);
    const memory_share memory(budget.of(request.principal), request.body.size());
    const auto left = std::make_shared<std::atomic<bool>>(false);
    const watch_for_end watching(peer, left);
    auto text = std::exchange(request.body, {});
    auto work =
        request.target->rpc_errors ? reading_messages(std::move(text), limits) : reading_value(std::move(text), limits);
    work = until_left(std::move(work), left);
    auto payer = request.payer();
    auto read = co_await pool.run_long(std::move(payer), std::move(work));
    request.read_body = std::move(read);
    co_return request.read_body != nullptr;
}

}  // namespace cmcp
