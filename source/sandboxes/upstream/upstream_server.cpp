#include "upstream/upstream_server.hpp"

#include "log/log.hpp"
#include "text/url_origin.hpp"
#include "upstream/call_result.hpp"
#include "upstream/tool_list.hpp"
#include "upstream/upstream_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::minutes list_lives{5};
constexpr std::chrono::seconds failure_lives{5};
constexpr std::chrono::milliseconds time_for_list{360'000};  // a program may install itself
constexpr std::chrono::milliseconds shortest_time{1};
constexpr std::size_t longest_problem = 1500;

/// A number that is greater while this lives.
class counted {
public:
    explicit counted(std::size_t& number) : number_(number) { ++number_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --number_; }

private:
    std::size_t& number_;
};

}  // namespace

upstream_server::upstream_server(asio::any_io_executor executor, const upstream_entry& entry,
                                 std::shared_ptr<upstream_link> link, blocking_pool& pool)
    : entry_(entry), link_(std::move(link)), pool_(pool), tasks_(executor)
{
    link_->on_change([this] { outdated_ = true; });
}

upstream_server::~upstream_server() { link_->on_change({}); }

std::string upstream_server::sentence(const std::string& end) const
{
    auto text = without_secrets("The upstream server " + entry_.name + " " + end, entry_);
    text = shown_line(text, longest_problem);
    return text.ends_with('.') || text.ends_with('?') ? text : text + ".";
}

// A server that fails is not asked again by each caller.
bool upstream_server::list_is_fresh() const
{
    if (listed_ == clock::time_point()) return false;
    if (failed_) return clock::now() < listed_ + failure_lives;
    return !outdated_ && clock::now() < listed_ + list_lives;
}

void upstream_server::begin_to_know_tools()
{
    if (refreshing_ || list_is_fresh()) return;
    refreshing_ = true;
    asked_ = clock::now();
    tasks_.spawn("list tools of an upstream server", refresh(shared_from_this()));
}

awaitable<> upstream_server::wait_for_tools(std::chrono::milliseconds patience)
{
    const auto until = asked_ + patience;
    while (refreshing_ && clock::now() < until) co_await refreshed_.wait(until);
}

awaitable<> upstream_server::refresh(std::shared_ptr<upstream_server> self)
{
    struct ending {
        upstream_server& of;
        explicit ending(upstream_server& server) : of(server) {}
        ~ending()
        {
            of.refreshing_ = false;
            of.listed_ = clock::now();
            of.refreshed_.notify();
        }
    };
    const ending at_end(*self);
    self->outdated_ = false;  // a change that comes meanwhile counts
    self->failed_ = true;
    try {
        co_await self->list_tools();
        self->failed_ = false;
        self->problem_.clear();
    } catch (const upstream_problem& problem) {
        self->tools_.clear();
        self->complaints_.clear();
        self->failure_ = problem.what();
        self->problem_ = self->sentence(self->failure_);
        log::warning("upstream_failed", {{"upstream", self->entry_.name}, {"reason", self->problem_}});
    }
}

awaitable<> upstream_server::list_tools()
{
    const auto list = std::make_shared<tool_list>(entry_);
    std::string cursor;
    const auto until = clock::now() + (entry_.url.empty() ? time_for_list : entry_.timeout);
    do {
        upstream_request wanted{"tools/list"};
        wanted.timeout = std::max(shortest_time, std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()));
        if (!cursor.empty()) wanted.params["cursor"] = cursor;
        auto page = co_await link_->ask(std::move(wanted));
        auto work = [list, page = std::move(page)]() mutable {
            const auto read = std::move(page);  // which goes with the end of the work
            return list->add_page(read);
        };
        cursor = co_await pool_.run(blocking_pool::server, std::move(work));
    } while (!cursor.empty());
    tools_ = std::move(list->tools);
    complaints_ = std::move(list->complaints);
}

const upstream_tool* upstream_server::find(const std::string& tool) const
{
    const auto entry = std::ranges::find(tools_, tool, &upstream_tool::name);
    return entry == tools_.end() ? nullptr : &*entry;
}

awaitable<json::object> upstream_server::call(std::string tool, json::object arguments,
                                              upstream_progress_handler on_progress)
{
    const auto self = shared_from_this();
    auto work = call_tool(std::move(tool), std::move(arguments), std::move(on_progress));
    try {
        auto result = co_await std::move(work);
        problem_.clear();
        co_return result;
    } catch (const upstream_refusal& refusal) {
        throw upstream_problem(sentence(refusal.what()));
    } catch (const upstream_problem& problem) {
        problem_ = sentence(problem.what());
        throw upstream_problem(problem_);
    }
}

awaitable<json::object> upstream_server::call_tool(std::string tool, json::object arguments,
                                                   upstream_progress_handler on_progress)
{
    if (running_ >= most_calls)
        throw upstream_refusal(0, "has " + std::to_string(most_calls) + " calls under way: try again later");
    const counted one(running_);
    ++calls_;
    begin_to_know_tools();
    co_await wait_for_tools(entry_.timeout);
    const auto* known = find(tool);
    if (known == nullptr && refreshing_) throw upstream_problem("has not told its tools yet");
    if (known == nullptr)
        throw upstream_refusal(0, failed_ ? failure_ : "offers no tool \"" + shown_line(tool, 64) + "\"");
    upstream_request wanted{"tools/call"};
    wanted.timeout = entry_.timeout;
    wanted.fields = repeated_arguments(known->input_schema, arguments);
    wanted.params["name"] = tool;
    wanted.params["arguments"] = std::move(arguments);
    wanted.on_progress = std::move(on_progress);
    auto result = co_await link_->ask(std::move(wanted));
    co_return checked_call_result(std::move(result));
}

std::vector<std::string> upstream_server::problems() const
{
    std::vector<std::string> all;
    if (!problem_.empty()) all.push_back(problem_);
    if (refreshing_ && listed_ == clock::time_point()) all.push_back(sentence("has not told its tools yet"));
    for (const auto& each : complaints_) all.push_back("The upstream server " + entry_.name + ": " + each);
    return all;
}

upstream_state upstream_server::state() const
{
    upstream_state now{entry_.name,
                       entry_.url.empty() ? "stdio" : "http",
                       entry_.url.empty() ? entry_.command.front() : std::string(origin_of(entry_.url)),
                       "idle",
                       {},
                       {}};
    now.protocol = link_->protocol();
    if (link_->is_open()) now.status = "ready";
    if (failed_ && !refreshing_) now.status = "failed";
    const auto all = problems();
    if (!all.empty()) now.problem = all.front();
    now.tools = tools_.size();
    now.calls = calls_;
    return now;
}

awaitable<> upstream_server::close()
{
    const auto self = shared_from_this();
    tasks_.cancel_all();
    co_await link_->close();
}

}  // namespace cmcp
