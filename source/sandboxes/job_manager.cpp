#include "sandboxes/job_manager.hpp"

#include "async/news.hpp"
#include "files/file_error.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "mcp/call_facts.hpp"
#include "runs/output_store.hpp"
#include "text/utf8_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cmcp {

using boost::system::system_error;

namespace {

constexpr std::size_t label_length = 120;
constexpr std::size_t piece = 64 * 1024;   // of output in one answer
constexpr std::size_t most_messages = 16;  // the latest are kept
constexpr std::size_t kept_ended = 4;      // times the jobs that may run at once
constexpr auto ending_limit = std::chrono::seconds(5);

std::shared_ptr<output_file> create(const std::filesystem::path& file)
{
    unique_fd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!made) throw std::system_error(errno, std::generic_category(), file.string());
    return std::make_shared<output_file>(std::move(made), file.string());
}

struct read_text {
    std::string text;
    std::uint64_t used = 0;  ///< bytes of the file
    std::uint64_t size = 0;  ///< of the whole file
};

read_text read_piece(const std::filesystem::path& file, std::uint64_t cursor)
{
    read_text made;
    const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!opened) return made;
    made.size = static_cast<std::uint64_t>(std::max<off_t>(0, ::lseek(opened.get(), 0, SEEK_END)));
    made.text.resize(piece);
    const auto got = ::pread(opened.get(), made.text.data(), piece, static_cast<off_t>(cursor));
    made.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    // A cursor that is none of ours may lie within a character.
    std::size_t begin = 0;
    while (begin < made.text.size() && begin < 4 && (static_cast<unsigned char>(made.text[begin]) & 0xc0) == 0x80)
        ++begin;
    made.text.erase(0, begin);
    made.text.resize(valid_utf8_length(made.text));
    made.used = begin + made.text.size();
    return made;
}

std::string label_of(const std::string& text)
{
    const auto line = std::string_view(text).substr(0, label_length);
    return std::string(line.substr(0, valid_utf8_length(line)));
}

}  // namespace

struct job_manager::job {
    job(const asio::any_io_executor& executor, job_record made) : record(std::move(made)), changed(executor) {}

    job_record record;
    std::string request;  // that began it
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::shared_ptr<output_file> output;
    std::uint64_t size = 0;  // of the output
    std::vector<std::string> messages;
    bool killed = false;
    bool done = false;
    asio::cancellation_signal signal;
    news changed;
};

void job_manager::log_job_end(const job& one, const tool_result& result)
{
    call_facts facts;
    facts.note_result(result);
    log::info("job_ended", {{"request", one.request},
                            {"principal", log::unless_empty(one.record.owner)},
                            {"tool", one.record.tool},
                            {"sandbox", log::unless_empty(one.record.sandbox)},
                            {"job", one.record.id},
                            {"state", one.record.state},
                            {"cause", facts.ending()},
                            {"error_type", log::unless_empty(facts.error_type)},
                            {"exit_code", facts.exit_code},
                            {"ms", std::chrono::steady_clock::now() - one.began},
                            {"bytes", one.size}});
}

/// Keeps what a run prints.
class job_manager::job_io final : public request_io {
public:
    job_io(std::shared_ptr<job> one, blocking_pool& pool) : job_(std::move(one)), pool_(pool) {}

    bool wants_progress() const override { return true; }
    awaitable<> progress(double, std::optional<double>, std::string) override { co_return; }
    awaitable<> output(double, std::vector<output_text> texts) override
    {
        std::string printed;
        for (const auto& piece : texts) printed += piece.text;
        const auto size = printed.size();
        auto work = [file = job_->output, printed = std::move(printed)] { return file->append(printed); };
        const bool written = co_await pool_.run(std::move(work));
        if (written) job_->size += size;
        job_->changed.tell();
    }
    awaitable<> log(log_severity, std::string, json::value data) override
    {
        auto& messages = job_->messages;
        if (messages.size() == most_messages) messages.erase(messages.begin());
        if (data.is_string()) messages.emplace_back(data.get_string());
        job_->changed.tell();
        co_return;
    }
    awaitable<> notify(std::string, json::object) override { co_return; }
    awaitable<json::object> ask(std::string, std::string, json::object) override
    {
        throw sandbox_error("StateError", "A run in the background cannot ask anything.");
        co_return json::object();
    }
    void close_stream_for_polling() override {}

private:
    std::shared_ptr<job> job_;
    blocking_pool& pool_;
};

job_manager::job_manager(const settings& chosen, asio::any_io_executor executor, sandbox_manager& sandboxes,
                         blocking_pool& pool)
    : chosen_(chosen), executor_(executor), sandboxes_(sandboxes), pool_(pool), tasks_(executor)
{
}

job_manager::~job_manager() = default;

std::size_t job_manager::running(const std::string& owner) const
{
    return static_cast<std::size_t>(std::count_if(
        live_.begin(), live_.end(), [&](const auto& each) { return each.second->record.owner == owner; }));
}

awaitable<job_record> job_manager::start(caller who, new_job what, work begins)
{
    if (running(who.principal) >= chosen_.jobs_per_caller)
        throw sandbox_error("QuotaExceeded", "As many jobs run as SANDBOX_JOBS_PER_CALLER allows (" +
                                                 std::to_string(chosen_.jobs_per_caller) +
                                                 "); wait for one with job_poll, or end one with job_kill.");
    job_record made;
    made.id = sandboxes_.handles().make("job");
    made.owner = who.principal;
    made.sandbox = std::move(what.sandbox);
    made.tool = std::move(what.tool);
    made.label = label_of(what.label);
    made.created = sandbox_manager::now();
    auto one = std::make_shared<job>(executor_, made);
    one->request = std::move(what.request);
    auto prepare = [file = sandboxes_.places().job(made.id)] { return create(file); };
    one->output = co_await pool_.run(std::move(prepare));
    sandboxes_.store().insert(made);
    live_[made.id] = one;
    tasks_.spawn("job", run(one, std::move(begins)));
    tasks_.spawn("forget jobs", forget_old(made.owner));
    co_return made;
}

awaitable<> job_manager::run(std::shared_ptr<job> one, work begins)
{
    job_io io(one, pool_);
    std::string state = "finished";
    tool_result result;
    try {
        auto executor = co_await asio::this_coro::executor;
        auto own = co_await asio::this_coro::cancellation_state;
        if (own.slot().is_connected())
            own.slot().assign([one](asio::cancellation_type) { one->signal.emit(asio::cancellation_type::terminal); });
        auto token = asio::bind_cancellation_slot(one->signal.slot(), asio::use_awaitable);
        auto running = begins(io);
        result = co_await asio::co_spawn(executor, std::move(running), token);
    } catch (const sandbox_error& ended) {
        state = "failed";
        result = tool_failure(ended.what());
        result.structured["error_type"] = ended.type;
    } catch (const file_error& ended) {
        state = "failed";
        result = tool_failure(ended.what());
    } catch (const system_error& ended) {
        if (ended.code() != asio::error::operation_aborted)
            log::error("job_failed", {{"request", one->request}, {"job", one->record.id}, {"reason", ended.what()}});
        state = one->killed ? "killed" : "lost";
        result = tool_failure(one->killed ? "The job was ended by job_kill." : "The server stopped while the job ran.");
        result.structured["cause"] = "cancelled";
    } catch (const std::exception& ended) {
        log::error("job_failed", {{"request", one->request}, {"job", one->record.id}, {"reason", ended.what()}});
        state = "failed";
        result = tool_failure("The run failed in the server (request " + one->request +
                              "; the server's log has the reason).");
    }
    if (one->killed && state == "failed") state = "killed";
    co_await finish(one, std::move(state), std::move(result));
}

awaitable<> job_manager::finish(std::shared_ptr<job> one, std::string state, tool_result result)
{
    one->record.state = std::move(state);
    one->record.ended = sandbox_manager::now();
    one->record.result = jsonrpc::write_json(result.structured);
    sandboxes_.store().finish_job(one->record.id, one->record.state, one->record.ended, one->record.result);
    log_job_end(*one, result);
    one->done = true;
    one->changed.tell();
    live_.erase(one->record.id);
    if (ended_) ended_(one->record);
    co_return;
}

awaitable<> job_manager::forget_old(std::string owner)
{
    auto gone = sandboxes_.store().forget_old_jobs(owner, chosen_.jobs_per_caller * kept_ended);
    if (gone.empty()) co_return;
    auto erase = [places = sandboxes_.places(), gone] {
        for (const auto& id : gone) ::unlink(places.job(id).c_str());
        return true;
    };
    co_await pool_.run(std::move(erase));
}

job_record job_manager::owned(const caller& who, const std::string& id)
{
    auto found = handle_maker::fits("job", id) ? sandboxes_.store().find_job(who.principal, id) : std::nullopt;
    if (!found) throw sandbox_error("NotFound", "There is no job \"" + id.substr(0, 100) + "\"; job_list shows yours.");
    return *found;
}

awaitable<job_view> job_manager::poll(caller who, std::string id, std::uint64_t cursor, std::chrono::milliseconds wait)
{
    job_view made;
    made.record = owned(who, id);
    const auto until = std::chrono::steady_clock::now() + wait;
    const auto found = live_.find(id);
    const auto one = found == live_.end() ? nullptr : found->second;
    while (one && !one->done && one->size <= cursor && std::chrono::steady_clock::now() < until) {
        co_await one->changed.wait(until);
    }
    if (one) made.record = one->record;
    if (one && !one->done) made.messages = one->messages;
    auto read_more = [file = sandboxes_.places().job(id), cursor] { return read_piece(file, cursor); };
    auto read = co_await pool_.run(std::move(read_more));
    made.cursor = cursor + read.used;
    made.more = made.cursor < read.size;
    made.output = std::move(read.text);
    co_return made;
}

awaitable<job_record> job_manager::kill(caller who, std::string id)
{
    auto record = owned(who, id);
    const auto found = live_.find(id);
    if (found == live_.end()) co_return record;
    const auto one = found->second;
    one->killed = true;
    one->signal.emit(asio::cancellation_type::terminal);
    while (!one->done) co_await one->changed.wait(news::clock::time_point::max());
    co_return one->record;
}

awaitable<> job_manager::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(ending_limit);
}

}  // namespace cmcp
