#include "sandboxes/image_fetches.hpp"

#include "async/with_deadline.hpp"
#include "config/settings.hpp"
#include "images/image_fetcher.hpp"
#include "log/log.hpp"
#include "posix/child_process.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/fetch_problem.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

namespace cmcp {
namespace {

using namespace std::chrono_literals;
using message_kind = fetch_message::kind;

constexpr std::size_t most_fetches = 8;  // at once, nearly all of them waiting for the one before
constexpr auto longest_fetch = 1h;
constexpr auto failure_is_kept = 30s;
constexpr auto between_reports = 1s;
constexpr auto to_end = 3s;

// Where skopeo finds passwords and certificates, and nothing else of the server's environment.
constexpr const char* variables[] = {
    "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "SSL_CERT_DIR"};

std::vector<std::string> environment(const settings& config)
{
    std::vector<std::string> all;
    for (const char* name : variables)
        if (const char* value = std::getenv(name)) all.push_back(std::string(name) + "=" + value);
    if (!config.web_ca_file.empty()) all.push_back("SSL_CERT_FILE=" + config.web_ca_file.string());
    return all;
}

std::shared_ptr<const egress_policy> policy_for(const settings& config, const image_choice& choice)
{
    return std::make_shared<egress_policy>(egress_policy::from_settings(config, choice.pulls().registries()));
}

asio::ip::tcp::acceptor listen_on(const asio::any_io_executor& executor, unique_fd listener)
{
    return {executor, asio::ip::tcp::v4(), listener.release()};
}

}  // namespace

sandbox::startable_program image_fetcher_program(const settings& config)
{
    fetcher_options options;
    options.store = (config.sandbox_root / "images").string();
    options.most_bytes = config.sandbox_image_max_size;
    options.most_stored = config.sandbox_image_store_size;
    options.pulls = config.sandbox_image_pull;
    options.variables = environment(config);
    // A server in its own mounts no longer sees where its program lies.
    static const std::string own_program = std::filesystem::read_symlink("/proc/self/exe").string();
    return fetcher_program(own_program, options);
}

/// An image on its way; `changed` is notified with each step and at the end.
struct image_fetches::fetch {
    explicit fetch(std::string image) : name(std::move(image)) {}

    std::string progress() const
    {
        const std::string received = ticket ? ", " + std::to_string(ticket->bytes() >> 20) + " MiB received" : "";
        return "Fetching " + name + ": " + step + received;
    }
    void enter(std::string next)
    {
        step = std::move(next);
        changed.notify();
    }
    bool is_over() const { return ended != clock::time_point(); }

    const std::string name;
    std::string step = "waiting for another image";
    std::shared_ptr<egress_ticket> ticket;  ///< while it runs
    clock::time_point ended;
    std::string problem;  ///< after the end: a sentence; empty: the image is there
    event changed;
};

/// The process of a fetch, which ends with this.
class image_fetches::fetcher {
public:
    fetcher(const asio::any_io_executor& executor, const sandbox::startable_program& program, const std::string& name)
        : socket_(executor)
    {
        auto [ours, theirs] = sandbox::packet_socket_pair();
        process_ = sandbox::start_program(program, theirs.get());
        sandbox::send_packet(ours.get(), name);
        socket_.assign(ours.release());
    }
    fetcher(const fetcher&) = delete;
    fetcher& operator=(const fetcher&) = delete;
    ~fetcher()
    {
        kill_process(process_.pidfd.get());
        collect_process(process_.pidfd.get());
    }

    /// No bytes: it has ended without a word.
    awaitable<sandbox::packet> next()
    {
        for (;;) {
            if (auto message = sandbox::receive_packet(socket_.native_handle())) co_return std::move(*message);
            co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
        }
    }

private:
    asio::posix::stream_descriptor socket_;
    sandbox::started_program process_;
};

image_fetches::image_fetches(const settings& config, asio::any_io_executor executor, const image_choice& choice,
                             sandbox::startable_program program)
    : program_(std::move(program)),
      choice_(choice),
      executor_(executor),
      guard_(executor, policy_for(config, choice)),
      tasks_(executor)
{
    limits_.bytes = config.sandbox_image_max_size;
}

awaitable<> image_fetches::provide(request_io& io, std::string image)
{
    const auto name = choice_.to_fetch(image);
    if (!name) co_return;
    const auto one = join(*name);
    while (!one->is_over()) {
        std::string progress = one->progress();
        const auto received = one->ticket ? static_cast<double>(one->ticket->bytes()) : 0.0;
        co_await io.progress(received, std::nullopt, std::move(progress));
        if (!one->is_over()) co_await one->changed.wait(clock::now() + between_reports);
    }
    if (!one->problem.empty()) throw sandbox_error("ImageNotFetched", one->problem);
}

std::string image_fetches::begin(const std::string& image)
{
    const auto name = choice_.to_fetch(image);
    if (!name) choice_.check(image);
    if (!name) return {};
    const auto one = join(*name);
    if (!one->problem.empty()) throw sandbox_error("ImageNotFetched", one->problem);
    return one->is_over() ? std::string() : one->progress();
}

// A failure is kept for a while, so that calls in a loop do not become fetches in a loop.
std::shared_ptr<image_fetches::fetch> image_fetches::join(const std::string& name)
{
    const auto now = clock::now();
    std::erase_if(fetches_, [&](const auto& each) {
        const fetch& old = *each.second;
        return old.is_over() && (old.problem.empty() || now > old.ended + failure_is_kept);
    });
    auto& one = fetches_[name];
    if (one) return one;
    const auto under_way =
        std::ranges::count_if(fetches_, [](const auto& each) { return each.second && !each.second->is_over(); });
    if (static_cast<std::size_t>(under_way) >= most_fetches) {
        fetches_.erase(name);
        throw sandbox_error("Busy", "Other images are being fetched; ask for this one again in a few minutes.");
    }
    one = std::make_shared<fetch>(name);
    tasks_.spawn("image_fetch", run(one));
    return one;
}

awaitable<> image_fetches::run(std::shared_ptr<fetch> one)
{
    while (busy_) co_await freed_.wait();
    busy_ = true;
    one->ticket = guard_.issue("image_fetch", limits_);
    one->problem = co_await attempt(one);
    one->ended = clock::now();
    one->ticket.reset();
    busy_ = false;
    freed_.notify();
    one->changed.notify();
    if (one->problem.empty())
        log::info("image_fetched", {{"image", one->name}});
    else
        log::warning("image_not_fetched", {{"image", one->name}, {"reason", json::string(one->problem)}});
}

// Why it failed, as a sentence; empty: the image is there.
awaitable<std::string> image_fetches::attempt(std::shared_ptr<fetch> one)
{
    std::string reason;
    try {
        auto work = follow(one);
        co_await with_deadline(std::move(work), longest_fetch);
        co_return std::string();
    } catch (const deadline_exceeded&) {
        reason = "It was not there after an hour";
    } catch (const boost::system::system_error& failure) {
        if (failure.code() == asio::error::operation_aborted) throw;
        reason = failure.what();
    } catch (const std::runtime_error& failure) {
        reason = failure.what();
    }
    co_return fetch_problem(one->name, reason, one->ticket->refusals());
}

awaitable<> image_fetches::follow(std::shared_ptr<fetch> one)
{
    fetcher process(executor_, program_, one->name);
    task_group doors(executor_);
    const egress_guard::holder holder = [ticket = one->ticket] { return ticket; };
    for (;;) {
        auto packet = co_await process.next();
        if (packet.bytes.empty()) throw std::runtime_error("The process that fetches it ended without a word");
        auto message = decoded_message(packet.bytes);
        if (message.is == message_kind::failed) throw std::runtime_error(message.text);
        if (message.is == message_kind::kept) co_return;
        for (auto& listener : packet.descriptors)
            doors.spawn("image_door", guard_.serve_door(listen_on(executor_, std::move(listener)), holder));
        one->enter(std::move(message.text));
    }
}

awaitable<> image_fetches::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(to_end);
}

}  // namespace cmcp
