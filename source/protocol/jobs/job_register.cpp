#include "jobs/job_register.hpp"

#include "async/sized_work.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cmcp {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view server_ended = "the server ended while it ran";

// The beginning becomes a hole, so what is behind it stays where it was.
bool make_room(int file, off_t size, off_t kept)
{
    constexpr off_t page = 4096;
    const off_t gone = (size - kept) / page * page;
    return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, gone) == 0;
}

bool append(const fs::path& file, std::string_view bytes, std::uint64_t kept)
{
    const unique_fd opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    const auto most = static_cast<off_t>(kept);
    const off_t size = opened && most != 0 ? ::lseek(opened.get(), 0, SEEK_END) : 0;
    if (size > 2 * most && !make_room(opened.get(), size, most)) return false;
    return opened && write_all(opened.get(), bytes);
}

struct read_text {
    std::string text;
    std::uint64_t used = 0;  ///< bytes of the file
    std::uint64_t size = 0;  ///< of the whole file
};

read_text read_piece(const fs::path& file, std::uint64_t cursor, std::size_t most)
{
    read_text read;
    const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!opened) return read;
    read.size = static_cast<std::uint64_t>(std::max<off_t>(0, ::lseek(opened.get(), 0, SEEK_END)));
    const auto first = ::lseek(opened.get(), static_cast<off_t>(cursor), SEEK_DATA);  // behind what is not kept
    const std::uint64_t skipped = first < 0 ? 0 : static_cast<std::uint64_t>(first) - cursor;
    read.text = read_at(opened.get(), cursor + skipped, most).value_or("");
    // A cursor that no answer gave may lie within a character.
    std::size_t begin = 0;
    while (begin < read.text.size() && begin < 4 && (static_cast<unsigned char>(read.text[begin]) & 0xc0) == 0x80)
        ++begin;
    read.text.erase(0, begin);
    read.text.resize(valid_utf8_length(read.text));
    read.used = skipped + begin + read.text.size();
    return read;
}

json::object error_object(const rpc_error& error)
{
    json::object described;
    described["code"] = error.code;
    described["message"] = error.what();
    if (error.data) described["data"] = *error.data;
    return described;
}

}  // namespace

job_register::job_register(asio::any_io_executor executor, handle_maker handles)
    : executor_(executor),
      store_(database::in_memory),
      handles_(std::move(handles)),
      works_(executor),
      upkeep_(executor)
{
}

job_register::job_register(asio::any_io_executor executor, const record_folder& folder, blocking_pool& pool,
                           handle_maker handles)
    : executor_(executor),
      pool_(&pool),
      folder_(folder.path()),
      file_(folder.database()),
      store_(file_),
      handles_(std::move(handles)),
      works_(executor),
      upkeep_(executor)
{
    fs::create_directories(folder_ / "jobs");
    if (folder.alone()) lose_those_of_before();
}

double job_register::now() { return seconds_since_1970(); }

// Called while no other process uses the records.
void job_register::lose_those_of_before()
{
    store_.lose_running(now(), server_ended);
    store_.forget_expired(now());
    const auto ids = store_.all();
    const std::set<std::string> known(ids.begin(), ids.end());
    std::error_code none;
    std::vector<fs::path> leftovers;
    for (fs::directory_iterator at(folder_ / "jobs", none), end; !none && at != end; at.increment(none))
        if (!known.contains(at->path().filename().string())) leftovers.push_back(at->path());
    for (const auto& file : leftovers) fs::remove(file, none);
}

std::shared_ptr<job> job_register::add(job_record record, std::shared_ptr<canceller> ends)
{
    record.id = handles_.make("job");
    record.created = now();
    store_.insert(record);
    if (record.keep > 0) shortest_keep_ = shortest_keep_ > 0 ? std::min(shortest_keep_, record.keep) : record.keep;
    auto changed = [this](const std::string& id) {
        if (changed_) changed_(id);
    };
    auto added = std::make_shared<job>(std::move(record), std::move(ends), std::move(changed));
    running_.emplace(added->record().id, added);
    if (!std::exchange(sweeping_, true)) upkeep_.spawn("look after jobs", keep_sweeping());
    return added;
}

void job_register::drop(const job& unknown)
{
    const auto id = unknown.record().id;
    running_.erase(id);
    store_.remove(id);
    erase_outputs({id});
}

void job_register::run(std::string name, awaitable<> work, std::shared_ptr<canceller> ends)
{
    works_.spawn(std::move(name), std::move(work), std::move(ends));
}

void job_register::finish(job& ended, json::object result, std::string_view state)
{
    auto record = ended.record();
    record.state = state;
    record.message.clear();
    if (pool_ != nullptr && jsonrpc::is_larger(result, most_on_loop)) {
        works_.spawn("keep a large result", keep_large(ended.shared_from_this(), std::move(record), std::move(result)));
        return;
    }
    record.result = jsonrpc::write_json(result);
    settle(ended, std::move(record));
}

// Neither the text of a large result nor its way into the file is a matter of a moment.
awaitable<> job_register::keep_large(std::shared_ptr<job> ended, job_record record, json::object result)
{
    record.ended = now();
    auto owner = record.owner;
    auto work = [file = file_, record = std::move(record), result = std::move(result)]() mutable {
        const auto written = std::move(result);  // which goes with the end of the work
        record.result = jsonrpc::write_json(written);
        std::string problem;
        try {
            job_store(file).finish(record);
        } catch (const database_error& failure) {
            problem = failure.what();
        }
        return std::pair(std::move(record), std::move(problem));
    };
    auto [saved, problem] = co_await by_size(*pool_, std::move(owner), most_on_loop + 1, std::move(work));
    close(*ended, std::move(saved), problem);
}

void job_register::fail(job& ended, const rpc_error& error)
{
    auto record = ended.record();
    record.state = "failed";
    record.error = jsonrpc::write_json(error_object(error));
    record.message = error.what();
    settle(ended, std::move(record));
}

void job_register::end(job& cancelled)
{
    auto record = cancelled.record();
    record.state = cancelled.cancelled_as().empty() ? "killed" : cancelled.cancelled_as();
    settle(cancelled, std::move(record));
}

// A job whose end cannot be saved stays in memory, where its owner finds it until the server ends.
void job_register::settle(job& ended, job_record record)
{
    record.ended = now();
    std::string problem;
    try {
        store_.finish(record);
    } catch (const database_error& failure) {
        problem = failure.what();
    }
    close(ended, std::move(record), problem);
}

// `problem`: why its end is not in the store; empty: it is.
void job_register::close(job& ended, job_record record, const std::string& problem)
{
    const auto id = record.id;
    const auto live = running(id);
    if (!problem.empty()) log::error("job_not_kept", {{"job", id}, {"reason", problem}});
    static auto& ends =
        metrics::all().counters("cmcp_jobs_ended_total", "Jobs and tasks by state at their end.", {"kind", "state"});
    ends.at({record.kind(), record.state}).add();
    ended.end(std::move(record));
    if (problem.empty()) running_.erase(id);
    if (live && changed_) changed_(id);
}

std::shared_ptr<job> job_register::running(const std::string& id) const
{
    const auto entry = running_.find(id);
    return entry == running_.end() ? nullptr : entry->second;
}

std::vector<std::shared_ptr<job>> job_register::running() const
{
    std::vector<std::shared_ptr<job>> all;
    for (const auto& [id, each] : running_)
        if (!each->ended()) all.push_back(each);
    return all;
}

std::size_t job_register::running_untimed(std::string_view owner) const
{
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const auto& each) {
        const auto& record = each.second->record();
        return record.keep == 0 && record.ended == 0 && record.owner == owner;
    }));
}

std::optional<job_record> job_register::find(const std::string& id)
{
    if (const auto live = running(id)) return live->record();
    if (!handle_maker::fits("job", id)) return std::nullopt;
    return store_.find(id, now());
}

std::vector<job_record> job_register::list(const std::string& owner)
{
    return with_live_states(store_.list(owner, now()));
}

std::vector<job_record> job_register::latest(std::string_view owner, bool of_all, std::size_t most)
{
    return with_live_states(store_.latest(owner, of_all, now(), most));
}

std::vector<job_record> job_register::with_live_states(std::vector<job_record> all) const
{
    for (auto& record : all)
        if (const auto live = running(record.id)) record.state = live->record().state;
    return all;
}

awaitable<> job_register::print(std::shared_ptr<job> printing, std::string text)
{
    printing->show(text);
    if (pool_ == nullptr) co_return;
    const auto size = text.size();
    auto work = [file = output_of(printing->record().id), text = std::move(text), kept = printing->kept_output_] {
        return append(file, text, kept);
    };
    const bool written = co_await pool_->run(printing->record().owner, std::move(work));
    if (written) printing->output_size_ += size;
    printing->printed_ = event::clock::now();
    printing->event_.notify();
}

namespace {

// A program that prints line by line is answered once for many lines.
constexpr std::chrono::milliseconds quiet(500);
constexpr std::uint64_t news = 4096;  // bytes that are worth an answer

// When there is nothing left to wait for, unless something happens.
event::clock::time_point end_of_wait(const job& live, std::uint64_t cursor, const job_patience& patience,
                                     std::size_t most, event::clock::time_point until)
{
    constexpr auto now = event::clock::time_point::min();
    const auto printed = live.output_size() - std::min(live.output_size(), cursor);
    if (live.ended() || printed >= most) return now;
    if (patience.until_end || printed == 0) return until;
    return printed >= news ? now : std::min(until, live.printed() + quiet);
}

}  // namespace

awaitable<job_view> job_register::view(job_record record, std::uint64_t cursor, job_patience patience, std::size_t most)
{
    job_view view;
    const auto until = event::clock::now() + patience.longest;
    const auto live = running(record.id);
    while (live) {
        const auto end = end_of_wait(*live, cursor, patience, most, until);
        if (event::clock::now() >= end) break;
        co_await live->wait(end);
    }
    view.record = live ? live->record() : record;
    view.cursor = cursor;
    if (live && !live->ended()) {
        view.messages = live->notes();
        view.queue_position = live->queue_position();
    }
    if (pool_ == nullptr) co_return view;
    auto work = [file = output_of(view.record.id), cursor, most] { return read_piece(file, cursor, most); };
    auto read = co_await pool_->run(view.record.owner, std::move(work));
    view.cursor = cursor + read.used;
    view.more = view.cursor < read.size;
    view.output = std::move(read.text);
    co_return view;
}

awaitable<json::object> job_register::read(std::string owner, std::string text)
{
    const auto size = text.size();
    auto work = [text = std::move(text)] { return jsonrpc::read_object(text); };
    auto object = co_await by_size(pool_, std::move(owner), size, std::move(work));
    co_return object;
}

void job_register::erase_outputs(std::vector<std::string> ids)
{
    if (pool_ != nullptr && !ids.empty()) upkeep_.spawn("forget jobs", erase(std::move(ids)));
}

awaitable<> job_register::erase(std::vector<std::string> ids)
{
    std::vector<fs::path> files;
    for (const auto& id : ids) files.push_back(output_of(id));
    auto work = [files = std::move(files)] {
        for (const auto& file : files) ::unlink(file.c_str());
    };
    co_await pool_->run(blocking_pool::server, std::move(work));
}

// A job that waits for its owner longer than its record would stay ends; a job that works goes on.
void job_register::sweep()
{
    try {
        erase_outputs(store_.forget_expired(now()));
    } catch (const database_error& failure) {
        log::warning("jobs_not_forgotten", {{"reason", failure.what()}});
    }
    const auto copy = running_;  // the end of a job takes it out
    for (const auto& [id, each] : copy) {
        const std::chrono::duration<double> waits = std::chrono::steady_clock::now() - each->asked_;
        if (each->waits_for_owner() && each->record().keep > 0 && waits.count() > each->record().keep)
            each->cancel("failed", "the client did not answer the task's requests in time");
    }
}

awaitable<> job_register::keep_sweeping()
{
    asio::steady_timer timer(executor_);
    while (!stopping_) {
        const auto seconds = shortest_keep_ > 0 ? std::clamp(shortest_keep_ / 4, 0.01, 30.0) : 30.0;
        timer.expires_after(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
        co_await timer.async_wait(asio::use_awaitable);
        sweep();
        if (pool_ == nullptr) continue;
        auto work = [file = file_] { database(file).checkpoint(); };
        co_await pool_->run(blocking_pool::server, std::move(work));
    }
}

void job_register::stop()
{
    stopping_ = true;
    const auto copy = running_;  // the end of a job takes it out
    for (const auto& [id, each] : copy) each->cancel("lost", server_ended);
    upkeep_.cancel_all();
}

}  // namespace cmcp
