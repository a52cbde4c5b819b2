#include "engine/engine_run.hpp"

#include "engine/container_output.hpp"
#include "engine/engine_options.hpp"
#include "engine/workspace_files.hpp"
#include "jail/verdict.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace cmcp::engine {
namespace {

using sandbox::cause;

constexpr std::size_t longest_result = 1 << 20;
constexpr std::size_t longest_report = 64 << 10;
constexpr auto between_kills = std::chrono::seconds(1);
constexpr auto between_measures = std::chrono::seconds(1);

// A shell has no other way to say that a signal ended its program, so a program that ends with such a number by itself
// is taken for one that a signal ended.
int wait_status(int code)
{
    constexpr int deadly[] = {SIGILL,  SIGABRT, SIGBUS,  SIGFPE,  SIGKILL, SIGSEGV,
                              SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS};
    const bool by_signal = std::find(std::begin(deadly), std::end(deadly), code - 128) != std::end(deadly);
    return by_signal ? code - 128 : (code & 0xff) << 8;
}

// A workspace that is gone for a moment is no reason to stop looking.
std::string look_after(const std::string& workspace, const sandbox::run_limits& limits, std::optional<uid_t> owner)
try {
    if (owner) give_files(workspace, *owner);  // what was uploaded meanwhile
    return workspace_excess(workspace, limits);
} catch (const std::system_error&) {
    return {};
}

std::chrono::seconds processor_time(const sandbox::run_limits& limits)
{
    return limits.cpu.count() != 0 ? limits.cpu : 2 * std::chrono::ceil<std::chrono::seconds>(limits.wall);
}

}  // namespace

engine_run::engine_run(asio::any_io_executor executor, engine_client& client, const engine_options& options,
                       blocking_pool& pool, sandbox::run_request request, sandbox::output_receiver& output)
    : executor_(executor),
      client_(client),
      chosen_(options),
      pool_(pool),
      request_(std::move(request)),
      output_(output),
      tasks_(executor)
{
}

void engine_run::end(cause why, std::string detail)
{
    if (!wish_) {
        wish_ = why;
        detail_ = std::move(detail);
    }
    if (why == cause::cancelled) stop_reading_.emit(asio::cancellation_type::terminal);
    changed_.notify();
}

awaitable<> engine_run::prepare(container_user user)
{
    auto work = [root = chosen_.root + "/engine/" + chosen_.server, user, workspace = request_.workspace,
                 script = request_.script, input = request_.input] {
        auto folder = std::make_shared<exchange_folder>(root);
        if (script) folder->put("script", *script);
        if (input) folder->put("input", *input);
        if (user.owner && !workspace.empty()) give_files(workspace, *user.owner);
        return folder;
    };
    exchange_ = co_await pool_.run(request_.principal, std::move(work));
    if (request_.channel) begin_bridge();
}

void engine_run::begin_bridge()
{
    unique_fd channel(::fcntl(request_.channel->get(), F_DUPFD_CLOEXEC, 3));
    request_.channel->reset();  // the server's end must see when the bridge's goes
    bridge_ = std::make_shared<channel_bridge>(executor_, exchange_->listen(), std::move(channel));
    tasks_.spawn("engine channel", bridge_->run());
}

awaitable<sandbox::run_result> engine_run::perform(container_user user, image_facts image)
{
    began_ = clock::now();
    owner_ = user.owner;
    co_await prepare(user);
    auto specification = container_spec(request_, chosen_, user, image, *exchange_);
    container_ = co_await client_.create(std::move(specification));
    auto stream = co_await client_.attach(container_);
    sandbox::run_result nothing_ran;
    nothing_ran.why = wish_.value_or(cause::setup_failed);
    if (wish_) co_return nothing_ran;
    const int code = co_await live(std::move(stream));
    auto result = co_await describe(code);
    co_return result;
}

awaitable<int> engine_run::live(std::unique_ptr<engine_connection> stream)
{
    co_await client_.start(container_);
    deadline_ = clock::now() + request_.limits.wall;
    measure_at_ = clock::now() + between_measures;
    tasks_.spawn("engine watch", watch());
    std::exception_ptr failure;
    try {
        auto token = asio::bind_cancellation_slot(stop_reading_.slot(), asio::use_awaitable);
        co_await asio::co_spawn(executor_, pump(*stream), token);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) end(cause::cancelled);  // a receiver that failed will not take more
    const int code = co_await client_.wait(container_);
    over_ = true;
    changed_.notify();
    if (bridge_) bridge_->close();
    if (failure && wish_ != cause::cancelled) std::rethrow_exception(failure);
    co_return code;
}

awaitable<> engine_run::pump(engine_connection& stream)
{
    output_frames frames;
    for (;;) {
        const std::string bytes = co_await stream.read_some();
        if (bytes.empty()) co_return;
        std::string_view rest = bytes;
        while (auto piece = frames.next(rest)) {
            co_await hand_over(piece->first, piece->second);
        }
    }
}

awaitable<> engine_run::hand_over(sandbox::stream from, std::string_view bytes)
{
    auto& received = received_[from == sandbox::stream::out ? 0 : 1];
    const auto taken =
        static_cast<std::size_t>(std::min<std::uint64_t>(request_.limits.output - received, bytes.size()));
    received += taken;
    if (taken < bytes.size()) end(cause::output_limit);
    if (taken != 0) co_await output_.receive(from, bytes.substr(0, taken));
}

awaitable<> engine_run::watch()
{
    const auto self = shared_from_this();
    while (!over_) {
        const auto now = clock::now();
        if (!wish_ && now >= deadline_) end(cause::timeout);
        if (!wish_ && now >= measure_at_) {
            co_await measure();
        }
        auto until = std::min(deadline_, measure_at_);
        if (wish_) {
            co_await kill();
            until = clock::now() + between_kills;
        }
        if (!over_) co_await changed_.wait(until);
    }
}

awaitable<> engine_run::kill()
{
    try {
        if (peak_memory_ == 0) {
            peak_memory_ = co_await client_.peak_memory(container_);
        }
        co_await client_.kill(container_);
    } catch (const engine_error&) {
        // Asked again in a moment; that the engine is gone is said by who waits for the container's end.
    }
}

awaitable<> engine_run::measure()
{
    auto work = [workspace = request_.workspace, limits = request_.limits, owner = owner_] {
        return workspace.empty() ? std::string() : look_after(workspace, limits, owner);
    };
    const auto began = clock::now();
    std::string excess = co_await pool_.run(request_.principal, std::move(work));
    const auto took = clock::now() - began;
    measure_at_ = clock::now() + std::max<clock::duration>(between_measures, 10 * took);
    if (!excess.empty()) end(cause::file_size_limit, std::move(excess));
}

awaitable<sandbox::run_result> engine_run::describe(int exit_code)
{
    const auto state = co_await client_.inspect(container_);
    auto work = [exchange = exchange_] {
        return std::pair(exchange->report(longest_report), exchange->result(longest_result));
    };
    auto [report_text, result_text] = co_await pool_.run(request_.principal, std::move(work));
    const auto report = read_report(report_text);
    sandbox::run_result result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began_);
    if (!report.lacks.empty() && !wish_) {
        result.error =
            "A container of this engine lacks " + report.lacks +
            ", which SANDBOX_REQUIRE names or which is always "
            "required; nothing was run. See how the engine is set up, or use the native sandbox (image \"native\").";
        co_return result;
    }
    sandbox::evidence known;
    known.status = wait_status(report.code.value_or(exit_code));
    known.killed_for = wish_;
    known.out_of_memory = report.out_of_memory || state.out_of_memory;
    known.out_of_processes = report.out_of_processes;
    known.cpu = report.cpu;
    known.cpu_limit = processor_time(request_.limits);
    sandbox::judge(known, result);
    result.detail = detail_;
    result.cpu = report.cpu;
    result.peak_memory = std::max(report.peak_memory, peak_memory_);
    result.result = std::move(result_text);
    co_return result;
}

awaitable<> engine_run::clean_up()
{
    const auto self = shared_from_this();
    over_ = true;
    changed_.notify();
    if (bridge_) bridge_->close();
    request_.channel.reset();
    if (!container_.empty()) {
        co_await client_.remove(container_);
    }
    if (!exchange_) co_return;
    auto work = [exchange = std::move(exchange_)]() mutable { exchange.reset(); };
    co_await pool_.run(request_.principal, std::move(work));
}

}  // namespace cmcp::engine
