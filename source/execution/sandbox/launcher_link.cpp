#include "sandbox/launcher_link.hpp"

#include "log/log.hpp"
#include "posix/child_process.hpp"

#include <poll.h>

namespace cmcp::sandbox {
namespace {

constexpr int patience_ms = 3000;  // for a launcher that ends its runs before itself

bool has_ended(const launcher_process& process)
{
    pollfd wait{process.pidfd.get(), POLLIN, 0};
    return ::poll(&wait, 1, 0) > 0;
}

std::string describe_end(const siginfo_t& info)
{
    if (info.si_code == 0) return "how is not known";  // it was no child of this process
    if (info.si_code == CLD_EXITED) return "exit code " + std::to_string(info.si_status);
    return "signal " + std::to_string(info.si_status);
}

// The zygote describes itself in JSON, which the launcher passes on as text; a sentence stays one.
json::value unwrapped(const json::value& detail)
{
    boost::system::error_code error;
    const auto* text = detail.if_string();
    json::value parsed = text ? json::parse(*text, error) : detail;
    return error ? detail : parsed;
}

}  // namespace

native_backend::link::link(asio::any_io_executor executor, options settings)
    : executor_(std::move(executor)), options_(std::move(settings)), socket_(executor_)
{
}

native_backend::link::~link()
{
    if (process_) end_launcher();
}

void native_backend::link::shut_down()
{
    shut_ = true;
    on_doors_ = nullptr;
    if (process_) end_launcher();
    end_pending("The server is shutting down; the run was ended.");
}

void native_backend::link::adopt(launcher_process started)
{
    socket_.assign(started.socket.release());
    process_ = std::move(started);
    zygote_state_.clear();
    stops_ = false;
}

void native_backend::link::note_zygote(std::string state)
{
    zygote_state_ = std::move(state);
    boost::system::error_code error;
    const json::value said = json::parse(zygote_state_, error);
    if (error || !said.is_object() || said.at("state") == "starting") return;
    log::info("python_zygote", {{"state", said.at("state")}, {"detail", unwrapped(said.at("detail"))}});
}

void native_backend::link::start_if_gone()
{
    if (shut_) throw std::system_error(ESHUTDOWN, std::system_category(), "the server is shutting down");
    if (process_ && has_ended(*process_)) lose_launcher();
    if (!process_) adopt(start_launcher(options_.launcher_path, options_.launcher));
}

std::shared_ptr<pending_run> native_backend::link::expect(std::uint64_t id)
{
    auto expected = std::make_shared<pending_run>();
    pending_.emplace(id, expected);
    listen();
    return expected;
}

void native_backend::link::forget(std::uint64_t id)
{
    pending_.erase(id);
    stop_listening_when_idle();
}

void native_backend::link::stop_listening_when_idle()
{
    if (!must_listen() && socket_.is_open()) socket_.cancel();
}

void native_backend::link::listen()
{
    if (listening_ || !must_listen() || !socket_.is_open()) return;
    listening_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [weak = weak_from_this()](const boost::system::error_code& error) {
                           if (const auto self = weak.lock()) self->on_readable(error);
                       });
}

void native_backend::link::on_readable(const boost::system::error_code& error)
{
    listening_ = false;
    if (!error) read_packets();
    listen();
}

const std::string& native_backend::link::zygote_state()
{
    if (!must_listen()) read_packets();  // nobody listens while no run is in flight
    return zygote_state_;
}

std::size_t native_backend::link::losses_lately()
{
    const auto since = std::chrono::steady_clock::now() - std::chrono::minutes(1);
    while (!losses_.empty() && losses_.front() < since) losses_.pop_front();
    return losses_.size();
}

awaitable<> native_backend::link::wait_for_packet()
{
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
}

void native_backend::link::read_packets()
{
    while (process_) {
        auto message = receive_packet(socket_.native_handle());
        if (!message) break;
        if (message->bytes.empty())
            lose_launcher();
        else
            take(std::move(*message));
    }
}

void native_backend::link::take(packet message)
{
    const auto kind = kind_of(message.bytes);
    if (kind == message_kind::hello) facts_ = decode_text(message.bytes);
    if (kind == message_kind::prepared) note_zygote(decode_text(message.bytes));
    if (kind == message_kind::largest_ended)
        log::warning("browser_memory_limit",
                     {{"advice", "its largest processes were ended; WEB_BROWSER_MEMORY_LIMIT"}});
    if (kind == message_kind::stops) stops_ = true;
    if (kind == message_kind::cells) return take_cells(decode_cells(message.bytes));
    if (kind == message_kind::socket) return take_socket(std::move(message));
    if (kind == message_kind::doors) return take_doors(std::move(message));
    if (kind != message_kind::ended) return;
    auto ended = decode_ended(message.bytes);
    const auto waits = find(ended.id);
    if (!waits) return;
    waits->result = std::move(ended.result);
    waits->arrived.notify();
}

void native_backend::link::take_cells(cells_message answer)
{
    const auto waits = find(answer.id);
    if (!waits) return;
    waits->cells = std::move(answer.cells);
    waits->arrived.notify();
}

// A socket that nobody waits for any more is closed.
void native_backend::link::take_socket(packet message)
{
    socket_answer answer = decode_socket(message.bytes);
    const auto waits = find(answer.id);
    if (!waits) return;
    opened_socket& opened = waits->socket.emplace();
    opened.error = std::move(answer.error);
    if (!message.descriptors.empty()) opened.socket = std::move(message.descriptors.front());
    waits->arrived.notify();
}

// Doors that nobody serves are closed.
void native_backend::link::take_doors(packet message)
{
    cell_name cell = decode_doors(message.bytes);
    if (message.descriptors.empty())
        with_doors_.erase(cell);
    else
        with_doors_.insert(cell);
    if (on_doors_) on_doors_(std::move(cell), std::move(message.descriptors));
}

void native_backend::link::end_doors()
{
    for (const cell_name& each : std::exchange(with_doors_, {}))
        if (on_doors_) on_doors_(each, {});
}

void native_backend::link::serve_doors(doors_handler handler)
{
    on_doors_ = std::move(handler);
    listen();
    stop_listening_when_idle();
}

std::shared_ptr<pending_run> native_backend::link::find(std::uint64_t id) const
{
    const auto entry = pending_.find(id);
    return entry == pending_.end() ? nullptr : entry->second;
}

void native_backend::link::send(std::string bytes, std::vector<unique_fd> descriptors)
{
    outbox_.push_back({std::move(bytes), std::move(descriptors)});
    flush();
}

void native_backend::link::flush()
try {
    while (process_ && !outbox_.empty() && send_packet(socket_.native_handle(), outbox_.front())) outbox_.pop_front();
    if (outbox_.empty() || waiting_to_write_ || !process_) return;
    waiting_to_write_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [weak = weak_from_this()](const boost::system::error_code&) {
                           const auto self = weak.lock();
                           if (!self) return;
                           self->waiting_to_write_ = false;
                           self->flush();
                       });
} catch (const std::system_error&) {
    lose_launcher();
}

// A signal for the server's whole process group, or for all of a service, reaches the launcher too, often first.
void native_backend::link::lose_launcher()
{
    kill_process(process_->pidfd.get());
    const std::string how = describe_end(collect_process(process_->pidfd.get()));
    log::write(stops_ ? log::level::info : log::level::error, stops_ ? "launcher_stopped" : "launcher_lost",
               {{"pid", process_->pid}, {"end", how}, {"runs", pending_.size()}});
    losses_.push_back(std::chrono::steady_clock::now());
    socket_.close();
    process_.reset();
    outbox_.clear();
    facts_.clear();
    end_doors();
    end_pending("The sandbox launcher ended unexpectedly (" + how +
                "). This run and all other processes of sandboxes ended with it, and /tmp is empty; files are kept. "
                "The launcher starts again with the next run: call again.");
}

void native_backend::link::end_pending(const std::string& error)
{
    for (auto& [id, expected] : pending_) {
        if (expected->result) continue;
        run_result& lost = expected->result.emplace();
        lost.why = cause::lost;
        lost.error = error;
        expected->arrived.notify();
    }
}

void native_backend::link::end_launcher()
{
    socket_.close();
    outbox_.clear();
    pollfd wait{process_->pidfd.get(), POLLIN, 0};
    if (::poll(&wait, 1, patience_ms) == 0) kill_process(process_->pidfd.get());
    collect_process(process_->pidfd.get());
    process_.reset();
}

}  // namespace cmcp::sandbox
