#include "upstream/stdio_link.hpp"

#include "async/with_deadline.hpp"
#include "mcp/revision.hpp"
#include "runs/python_run.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"
#include "upstream/link_messages.hpp"
#include "upstream/stdio_process.hpp"
#include "upstream/upstream_servers.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

// Descriptor 3 is the socket whose other end the server has.
constexpr const char* speak_over_channel = "exec \"$@\" <&3 >&3 3>&-";
constexpr std::chrono::hours for_ever{24 * 365};

}  // namespace

/// A request that is under way: the program is in use until it goes.
class stdio_link::use {
public:
    explicit use(stdio_link& of) : of_(of) { ++of_.uses_; }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use()
    {
        --of_.uses_;
        of_.used_ = clock::now();
    }

private:
    stdio_link& of_;
};

stdio_link::stdio_link(asio::any_io_executor executor, const upstream_entry& entry, sandbox::backend& backend,
                       sandbox_runner* runs, std::string owner, stdio_times times)
    : executor_(executor),
      entry_(entry),
      backend_(backend),
      runs_(runs),
      owner_(std::move(owner)),
      times_(times),
      tasks_(executor)
{
}

stdio_link::~stdio_link() = default;

bool stdio_link::is_open() const { return ready_ && process_ && process_->alive(); }

awaitable<json::object> stdio_link::ask(upstream_request wanted)
{
    const auto self = shared_from_this();
    const auto limit = wanted.timeout;
    auto work = ask_open(std::move(wanted));
    try {
        auto result = co_await with_deadline(std::move(work), limit);
        co_return result;
    } catch (const deadline_exceeded&) {
        throw upstream_problem((opening_ ? "still starts after " : "has not answered within ") + seconds_text(limit));
    }
}

awaitable<json::object> stdio_link::ask_open(upstream_request wanted)
{
    const use mine(*this);
    co_await ready();
    auto result = co_await exchange(std::move(wanted));
    co_return result;
}

// The program starts in its own time, whoever waits for it meanwhile.
awaitable<> stdio_link::ready()
{
    if (runs_ == nullptr) throw upstream_problem("needs sandboxes, which this server does not offer");
    if (!closed_ && !opening_ && !is_open()) {
        const auto wait = std::chrono::ceil<std::chrono::seconds>(not_before_ - clock::now());
        if (wait.count() > 0)
            throw upstream_problem(problem_ + "; it may start again in " + std::to_string(wait.count()) + " s");
        opening_ = true;
        tasks_.spawn("start an upstream server", open(shared_from_this()));
    }
    while (opening_ && !closed_) co_await opened_.wait();
    if (closed_) throw upstream_problem("is not asked any more, because this server ends");
    if (!is_open()) throw upstream_problem(problem_.empty() ? "has ended" : problem_);
}

awaitable<> stdio_link::open(std::shared_ptr<stdio_link> self)
{
    self->problem_ = co_await try_to_open(self);
    if (self->problem_.empty()) {
        self->tasks_.spawn("watch an upstream server", watch(self, self->process_));
    } else {
        if (self->process_) co_await self->process_->finish();
        self->process_.reset();
        self->back_off({});
    }
    self->opening_ = false;
    self->opened_.notify();
}

// The text is the problem; empty: the server is open.
awaitable<std::string> stdio_link::try_to_open(std::shared_ptr<stdio_link> self)
{
    auto work = self->open_now();
    try {
        co_await with_deadline(std::move(work), self->times_.start);
        co_return std::string();
    } catch (const upstream_problem& problem) {
        co_return std::string(problem.what());
    } catch (const sandbox_error& problem) {
        co_return std::string("has no sandbox. ") + problem.what();
    } catch (const deadline_exceeded&) {
        co_return "has not begun to speak within " + seconds_text(self->times_.start);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::exception& problem) {
        co_return std::string("could not be started: ") + problem.what();
    }
}

awaitable<> stdio_link::open_now()
{
    ready_ = stateless_ = false;
    protocol_.clear();
    const auto where = co_await place();
    auto request = request_in(where);
    process_ = std::make_shared<stdio_process>(executor_, entry_, backend_, *runs_);
    process_->messages().tools_changed = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tell_change();
    };
    process_->start(where, std::move(request));
    co_await initialize();
    used_ = clock::now();
    ready_ = true;
}

awaitable<sandbox_record> stdio_link::place()
{
    auto& sandboxes = runs_->sandboxes();
    caller who;
    who.principal = owner_;
    const std::string name = upstream_servers::sandbox_name(entry_.name);
    const network_wish wish{entry_.network};
    auto before = sandboxes.store().find(owner_, name);
    if (before && !entry_.image.empty() && sandboxes.images().check(entry_.image) != before->image) {
        co_await sandboxes.remove(who, before->id);
        before.reset();
    }
    if (!before) {
        new_sandbox wanted;
        wanted.name = name;
        wanted.image = entry_.image;
        wanted.network = wish;
        auto record = co_await sandboxes.create(who, std::move(wanted));
        co_return record;
    }
    auto known = sandboxes.find(who, name);
    if (known.network == joined(entry_.network, ",")) co_return known;
    co_await sandboxes.set_network(who, known.id, wish);
    co_return sandboxes.find(who, name);
}

sandbox::run_request stdio_link::request_in(const sandbox_record& where) const
{
    auto request = runs_->base(where);
    request.argv = {runs_->program(where, "sh", "/bin/sh"), "-c", speak_over_channel, "sh"};
    request.argv.insert(request.argv.end(), entry_.command.begin(), entry_.command.end());
    add_python_variables(request, python_home::sandbox);
    request.environment.insert(request.environment.end(), entry_.env.begin(), entry_.env.end());
    request.limits.wall = for_ever;
    request.label = "upstream " + entry_.name;
    return request;
}

// A server that knows nothing but revision 2026-07-28 refuses `initialize`; the others may fear all that comes before
// it.
awaitable<> stdio_link::initialize()
{
    upstream_request wanted{"initialize", initialize_params()};
    try {
        const auto answer = co_await exchange(std::move(wanted));
        protocol_ = agreed_revision(answer);
    } catch (const upstream_refusal&) {
        stateless_ = true;
    }
    if (!stateless_) {
        process_->send(jsonrpc::encode_notification("notifications/initialized", {}));
        co_return;
    }
    upstream_request question{"server/discover"};
    co_await exchange(std::move(question));
    protocol_ = to_string(revision::v2026_07_28);
}

awaitable<> stdio_link::watch(std::shared_ptr<stdio_link> self, std::shared_ptr<stdio_process> process)
{
    bool idle = false;
    while (process->alive() && !idle) {
        const auto until = (self->uses_ == 0 ? self->used_ : clock::now()) + self->times_.idle;
        idle = self->uses_ == 0 && clock::now() >= until;
        if (!idle) co_await process->changed().wait(until);
    }
    if (idle) co_await process->finish();
    self->problem_ = idle ? std::string() : self->end_of(*process);
    self->process_.reset();
    self->ready_ = false;
    if (!idle) self->back_off(process->end() - process->began());
}

void stdio_link::back_off(clock::duration lived)
{
    pause_ =
        lived >= times_.steady ? times_.first_pause : std::clamp(2 * pause_, times_.first_pause, times_.longest_pause);
    not_before_ = clock::now() + pause_;
}

awaitable<json::object> stdio_link::exchange(upstream_request wanted)
{
    const auto process = process_;
    const auto id = next_id_++;
    const bool reports = static_cast<bool>(wanted.on_progress);
    const auto answer = process->messages().expect(id, std::move(wanted.on_progress));
    auto params = params_with_meta(std::move(wanted.params), id, reports, stateless_);
    auto text = co_await process->messages().write(id, wanted.method, std::move(params));
    process->send(std::move(text));
    try {
        while (!answer->answer && process->alive()) co_await process->changed().wait();
    } catch (const boost::system::system_error&) {
        json::object gone{{"requestId", id}, {"reason", "The call was cancelled, or its time is over."}};
        if (wanted.method != "initialize") process->send(jsonrpc::encode_notification("notifications/cancelled", gone));
        throw;
    }
    if (!answer->answer) throw upstream_problem(end_of(*process));
    co_return result_of(std::move(*answer->answer), wanted.method);
}

std::string stdio_link::end_of(const stdio_process& process)
{
    const auto& line = process.last_line();
    return process.why_ended() + (line.empty() ? "" : "; the last line of its standard error is: " + line);
}

awaitable<> stdio_link::close()
{
    const auto self = shared_from_this();
    closed_ = true;
    tasks_.cancel_all();
    opened_.notify();
    if (process_) co_await process_->finish();
}

}  // namespace cmcp
