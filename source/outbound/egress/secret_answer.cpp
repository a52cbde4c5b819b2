#include "async/sized_work.hpp"
#include "egress/message_passing.hpp"
#include "egress/secret_exchange.hpp"
#include "egress/websocket_mask.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <array>
#include <charconv>

namespace cmcp {

namespace {

namespace http = boost::beast::http;

constexpr std::size_t answer_piece = 64 * 1024;
constexpr std::size_t steps_of_byte = 16;  // a look at one byte costs so many times what others do with it

// RFC 9112 section 7.1.
std::string chunk_of(const std::string& bytes)
{
    if (bytes.empty()) return {};
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16).ptr;
    return std::string(digits.data(), end) + "\r\n" + bytes + "\r\n";
}

// A coding that nothing looks into could carry the secret.
bool can_be_read(const http::response_header<>& answer)
{
    for (const auto& each : answer) {
        const auto coding = trimmed(each.value());
        if (each.name() == http::field::content_encoding && !coding.empty() && !equal_ignoring_case(coding, "identity"))
            return false;
        if (each.name() == http::field::transfer_encoding && !equal_ignoring_case(coding, "chunked")) return false;
    }
    return true;
}

// An extension, such as compression, could hide the secret.
std::string problem_of_switch(const http::response_header<>& answer, bool is_wanted)
{
    if (!is_wanted) return " began another protocol than HTTP.";
    if (answer.count(http::field::sec_websocket_extensions) == 0) return {};
    return " began a WebSocket with an extension that nobody asked it for.";
}

}  // namespace

awaitable<bool> secret_exchange::read_answer(std::optional<response_parser>& into, request_facts facts)
{
    bool is_interim = true;
    while (is_interim) {  // such answers are for us, but for the one that ends HTTP
        into.emplace();
        into->header_limit(proxy_connection::header_limit);
        into->body_limit(boost::none);
        into->skip(facts.is_head);
        const auto failure = co_await read_header(*upstream_, of_.from_upstream_, *into);
        if (failure && of_.client_.is_open()) {
            std::string sentence = bad_answer_sentence(of_.upstream_name_, failure);
            co_await refuse(502, "bad response", std::move(sentence));
        }
        if (failure) co_return false;
        of_.note_moved();
        const bool switches = into->get().result() == http::status::switching_protocols;
        is_interim = into->get().result_int() / 100 == 1 && !switches;
        if (!switches) continue;
        std::string problem = problem_of_switch(into->get(), facts.upgrades);
        if (problem.empty()) continue;
        co_await refuse(502, "bad response", of_.upstream_name_ + std::move(problem));
        co_return false;
    }
    const auto status = into->get().result();
    if (status == http::status::partial_content || status == http::status::im_used) {
        co_await refuse(502, "range",
                        of_.upstream_name_ +
                            " sent a part of an answer though the whole was asked for; a secret could come back in "
                            "parts, so it was refused.");
        co_return false;
    }
    if (into->is_done() || can_be_read(into->get())) co_return true;
    co_await refuse(502, "encoding",
                    of_.upstream_name_ +
                        " sent an encoded body though none was asked for; a secret could come back in it, so it was "
                        "refused.");
    co_return false;
}

awaitable<bool> secret_exchange::give(response_parser& answer, request_facts facts)
{
    auto& head = answer.get();
    const bool switches = head.result() == http::status::switching_protocols;
    const bool server_stays = answer.keep_alive();
    erase_hop_by_hop(head);
    head.erase(http::field::trailer);
    head.version(11);
    const bool in_chunks = (answer.chunked() || answer.need_eof()) && facts.takes_chunks;
    const bool stays = facts.client_stays && (in_chunks || !(answer.chunked() || answer.need_eof()));
    if (!switches) {
        if (answer.need_eof() || answer.chunked()) head.chunked(in_chunks);
        head.keep_alive(stays);
    } else {
        keep_upgrade(head);
    }
    std::string text = header_text(head.base());
    if (secrets_) {
        auto mask = std::make_shared<stream_mask>(secrets_->masks);
        text = co_await masked(std::move(mask), std::move(text), true);
    }
    const bool sent = co_await write(std::move(text));
    if (!sent) co_return false;
    if (switches) {
        co_await relay();
        co_return false;
    }
    bool whole = true;
    if (!answer.is_done()) whole = co_await give_body(answer, in_chunks);
    if (!server_stays) drop_upstream();
    co_return whole&& stays;
}

awaitable<bool> secret_exchange::give_body(response_parser& answer, bool in_chunks)
{
    const auto mask = std::make_shared<stream_mask>(secrets_ ? secrets_->masks : nullptr);
    std::vector<char> piece(answer_piece);
    of_.from_upstream_.reserve(answer_piece);  // Beast reads as much at once as there is room for
    auto& body = answer.get().body();
    while (!answer.is_done()) {
        body.data = piece.data();
        body.size = piece.size();
        const auto failure = co_await read_some(*upstream_, of_.from_upstream_, answer);
        if (!ok_or_more(failure)) co_return false;
        std::string bytes(piece.data(), piece.size() - body.size);
        bytes = co_await masked(mask, std::move(bytes), answer.is_done());
        if (in_chunks) bytes = chunk_of(bytes) + (answer.is_done() ? "0\r\n\r\n" : "");
        const bool sent = co_await write(std::move(bytes));
        if (!sent) co_return false;
    }
    co_return true;
}

// On the pool, fairly by principal; what is written towards the client has the sizes that come out.
template <class Mask>
awaitable<std::string> secret_exchange::masked(std::shared_ptr<Mask> mask, std::string piece, bool is_end)
{
    const auto size = mask->is_masking() ? mask->held() + piece.size() : 0;
    auto work = [mask, piece = std::move(piece), is_end] {
        std::string bytes = mask->feed(piece);
        if (is_end) bytes += mask->finish();
        return bytes;
    };
    auto& pool = of_.ticket_->secrets()->pool();
    std::string principal = of_.ticket_->principal();
    auto bytes = co_await by_size(pool, std::move(principal), size * steps_of_byte, std::move(work));
    co_return bytes;
}

awaitable<bool> secret_exchange::write(std::string bytes)
{
    if (bytes.empty()) co_return true;
    const auto sent = co_await client_->write(bytes);
    co_return !sent.failure && of_.moved(sent.size);
}

awaitable<> secret_exchange::relay()
{
    auto executor = co_await asio::this_coro::executor;
    auto outward = pass(*client_, of_.from_client_, *upstream_, nullptr);
    auto inward = pass(*upstream_, of_.from_upstream_, *client_, secrets_ ? secrets_->masks : nullptr);
    auto either = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(outward), asio::deferred),
                                                          asio::co_spawn(executor, std::move(inward), asio::deferred));
    co_await either.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
}

void secret_exchange::note_bad_websocket(const std::string& problem)
{
    of_.note_refusal("websocket", of_.upstream_name_ + " " + problem +
                                      "; a secret could come back in it, so its WebSocket was ended.");
}

awaitable<> secret_exchange::pass(byte_stream& from, boost::beast::flat_buffer& before, byte_stream& to,
                                  std::shared_ptr<const secret_masks> masks)
{
    const auto mask = std::make_shared<websocket_mask>(std::move(masks));
    const auto read_before = before.cdata();
    std::string bytes(static_cast<const char*>(read_before.data()), read_before.size());
    before.clear();
    bytes = co_await masked(mask, std::move(bytes), false);
    std::vector<char> piece(answer_piece);
    for (bool more = true; more;) {
        const auto sent = co_await to.write(bytes);
        if (sent.failure || !of_.moved(sent.size)) co_return;
        if (!mask->problem().empty()) co_return note_bad_websocket(mask->problem());
        const auto got = co_await from.read_some(asio::buffer(piece));
        more = !got.failure;
        bytes.assign(piece.data(), more ? got.size : 0);
        bytes = co_await masked(mask, std::move(bytes), !more);
        of_.note_moved();
    }
    co_await to.write(bytes);
}

}  // namespace cmcp
