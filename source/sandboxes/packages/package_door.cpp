#include "packages/package_door.hpp"

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_address = 16 << 10;
constexpr std::size_t most_answers = 64;  // at once
constexpr std::size_t most_pages = 4;     // at once, because each is kept whole until it was looked through
constexpr std::uint64_t longest_page = 32ull << 20;
constexpr std::size_t longest_frame = 256 << 10;

void count(egress_ticket& ticket, std::uint64_t bytes)
{
    if (!ticket.count(bytes))
        throw fetch_error("bytes", "Cut: more than the limit of " + std::to_string(ticket.limits().bytes >> 20) +
                                       " MiB was transferred.");
}

class held_slot {
public:
    held_slot(std::size_t& taken, event& changed) : taken_(taken), changed_(changed) { ++taken_; }
    held_slot(const held_slot&) = delete;
    held_slot& operator=(const held_slot&) = delete;
    ~held_slot()
    {
        --taken_;
        changed_.notify();
    }

private:
    std::size_t& taken_;
    event& changed_;
};

class package_door : public std::enable_shared_from_this<package_door> {
public:
    package_door(asio::any_io_executor executor, unique_fd channel, package_source source)
        : channel_(executor, channel.release()), source_(std::move(source)), tasks_(executor)
    {
    }
    awaitable<> run();

    /// Frames are written one at a time, whole. Throws system_error when the run is gone.
    awaitable<> write(char kind, std::uint32_t number, std::string_view bytes = {});
    awaitable<> write_head(std::uint32_t number, unsigned status, std::string type,
                           std::optional<std::uint64_t> length);
    awaitable<> write_data(std::uint32_t number, std::string_view bytes);

private:
    using head = std::array<unsigned char, 9>;

    awaitable<bool> read(std::uint32_t& number, std::string& address);
    static awaitable<> answer(std::shared_ptr<package_door> self, std::uint32_t number, std::string address);
    awaitable<> answer_page(std::uint32_t number, web_url at);
    awaitable<> answer_file(std::uint32_t number, web_url at);
    awaitable<std::string> read_page(web_url from, std::string page);
    awaitable<> refuse(std::uint32_t number, unsigned status, std::string sentence);
    fetch_request request(web_url at) const;
    void note(const web_url& at, const fetch_error& failure);

    asio::posix::stream_descriptor channel_;
    package_source source_;
    std::size_t pages_ = 0;
    event changed_;
    bool writing_ = false;
    task_group tasks_;
};

/// The answer to a run's question for a file, sent on as it comes in.
class passed_file final : public body_receiver {
public:
    passed_file(package_door& door, egress_ticket& ticket, std::uint32_t number)
        : door_(door), ticket_(ticket), number_(number)
    {
    }
    awaitable<> begin(fetch_head head, std::optional<std::uint64_t> length) override
    {
        begun_ = true;
        return door_.write_head(number_, head.status, std::move(head.type), length);
    }
    awaitable<> receive(std::string_view piece) override
    {
        count(ticket_, piece.size());
        return door_.write_data(number_, piece);
    }
    bool begun() const { return begun_; }

private:
    package_door& door_;
    egress_ticket& ticket_;
    std::uint32_t number_;
    bool begun_ = false;
};

awaitable<bool> package_door::read(std::uint32_t& number, std::string& address)
{
    head bytes{};
    auto [failure, got] = co_await asio::async_read(channel_, asio::buffer(bytes), as_tuple);
    const std::size_t size = boost::endian::load_big_u32(bytes.data() + 5);
    if (failure || bytes[0] != 'g' || size > longest_address) co_return false;
    number = boost::endian::load_big_u32(bytes.data() + 1);
    address.resize(size);
    auto [late_failure, rest] = co_await asio::async_read(channel_, asio::buffer(address), as_tuple);
    co_return !late_failure;
}

awaitable<> package_door::run()
{
    const auto self = shared_from_this();
    std::uint32_t number = 0;
    std::string address;
    for (;;) {
        const bool more = co_await read(number, address);
        if (!more) break;
        if (tasks_.size() >= most_answers)
            co_await write('x', number);
        else
            tasks_.spawn("package answer", answer(self, number, address));
    }
    tasks_.cancel_all();
}

awaitable<> package_door::write(char kind, std::uint32_t number, std::string_view bytes)
{
    while (writing_) co_await changed_.wait();
    writing_ = true;
    head before{static_cast<unsigned char>(kind)};
    boost::endian::store_big_u32(before.data() + 1, number);
    boost::endian::store_big_u32(before.data() + 5, static_cast<std::uint32_t>(bytes.size()));
    const std::array<asio::const_buffer, 2> whole{asio::buffer(before), asio::buffer(bytes)};
    auto [failure, sent] = co_await asio::async_write(channel_, whole, as_tuple);
    writing_ = false;
    changed_.notify();
    if (failure) throw boost::system::system_error(asio::error::operation_aborted);
}

awaitable<> package_door::write_head(std::uint32_t number, unsigned status, std::string type,
                                     std::optional<std::uint64_t> length)
{
    json::object about{{"status", status}, {"type", type}, {"length", nullptr}};
    if (length) about["length"] = *length;
    const std::string text = json::serialize(about);
    co_await write('h', number, text);
}

awaitable<> package_door::write_data(std::uint32_t number, std::string_view bytes)
{
    for (; !bytes.empty(); bytes.remove_prefix(std::min(longest_frame, bytes.size())))
        co_await write('d', number, bytes.substr(0, longest_frame));
}

awaitable<> package_door::answer(std::shared_ptr<package_door> self, std::uint32_t number, std::string address)
{
    const auto place = self->source_.index->find(address);
    unsigned status = 403;
    std::string problem = "The index names no such file.";
    if (place) {
        try {
            if (place->is_page)
                co_await self->answer_page(number, place->url);
            else
                co_await self->answer_file(number, place->url);
            co_return;
        } catch (const fetch_error& failure) {
            self->note(place->url, failure);
            problem = failure.what();
            if (failure.reason != "refused") status = 502;
        }
    }
    co_await self->refuse(number, status, std::move(problem));
}

awaitable<> package_door::refuse(std::uint32_t number, unsigned status, std::string sentence)
{
    co_await write_head(number, status, "text/plain", sentence.size());
    co_await write_data(number, sentence);
    co_await write('e', number);
}

fetch_request package_door::request(web_url at) const
{
    fetch_request wanted;
    if (!source_.authorization.empty() && at.origin() == source_.index->root().origin())
        wanted.headers.emplace_back("Authorization", source_.authorization);
    wanted.url = std::move(at);
    wanted.max_bytes = longest_page;
    wanted.timeout = source_.timeout;
    wanted.timeout_setting = "the time of an installation";
    return wanted;
}

awaitable<> package_door::answer_page(std::uint32_t number, web_url at)
{
    while (pages_ >= most_pages) co_await changed_.wait();
    const held_slot place(pages_, changed_);
    auto wanted = request(std::move(at));
    wanted.accept = source_.index->accepted_pages();
    auto reply = co_await source_.client.get(source_.ticket, std::move(wanted));
    count(*source_.ticket, reply.received);
    std::string page;
    if (reply.status == 200) page = co_await read_page(std::move(reply.url), std::move(reply.body));
    co_await write_head(number, reply.status, std::move(reply.type), page.size());
    co_await write_data(number, page);
    co_await write('e', number);
}

awaitable<std::string> package_door::read_page(web_url from, std::string page)
{
    auto work = [index = std::shared_ptr<const package_index>(source_.index), from = std::move(from),
                 page = std::move(page)]() mutable { return index->read(from, std::move(page)); };
    auto read = co_await source_.pool.run(source_.owner, std::move(work));
    source_.index->remember(std::move(read.files));
    co_return std::move(read.text);
}

awaitable<> package_door::answer_file(std::uint32_t number, web_url at)
{
    passed_file file(*this, *source_.ticket, number);
    auto wanted = request(at);
    wanted.receiver = &file;
    char end = 'e';
    try {
        co_await source_.client.get(source_.ticket, std::move(wanted));
    } catch (const fetch_error& failure) {
        if (!file.begun()) throw;
        note(at, failure);
        end = 'x';
    }
    co_await write(end, number);
}

// The guard itself notes what it refuses.
void package_door::note(const web_url& at, const fetch_error& failure)
{
    const auto& noted = source_.ticket->refusals();
    if (!noted.empty() && noted.back().sentence == failure.what()) return;
    source_.ticket->add_refusal({at.who.name, at.port, failure.reason, failure.what()});
}

}  // namespace

awaitable<> open_package_door(unique_fd channel, package_source source)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto door = std::make_shared<package_door>(executor, std::move(channel), std::move(source));
    co_await door->run();
}

}  // namespace cmcp
