#include "e2b/daemons.hpp"

#include "e2b/daemon_program.hpp"
#include "log/log.hpp"
#include "runs/python_run.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/system_error.hpp>

#include <sys/socket.h>

#include <limits>

namespace cmcp::e2b {

namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_start = 20s;
constexpr auto ending_limit = 5s;
constexpr std::chrono::hours longest_life(24 * 3650);

// Programs have streams of their own; what comes here is the daemon's complaint.
class complaints final : public sandbox::output_receiver {
public:
    awaitable<> receive(sandbox::stream, std::string_view bytes) override
    {
        if (text.size() < 1000) text.append(bytes.substr(0, 1000));
        co_return;
    }
    std::string text;
};

}  // namespace

void daemons::start(const caller& who, const sandbox_record& where, variables all)
{
    auto request = runs_.base(where);
    if (request.cell.empty())
        throw sandbox_error("NotAvailable",
                            "Runs of this sandbox share no processes (Firejail, or a container without a /proc of its "
                            "own), so E2B's clients cannot use it.");
    add_python_variables(request, python_home::sandbox);
    add_given_python(request);
    for (auto& each : all) request.environment.push_back(std::move(each));
    request.argv = {"/proc/self/fd/0"};
    request.input = std::string(daemon_program());
    request.limits.wall = longest_life;
    request.limits.output = std::numeric_limits<std::uint64_t>::max();
    request.label = "envd";
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    auto right = runs_.right_for(request, who, where.id);
    if (request.tools) request.environment.emplace_back(tool_rights::variable, right.text());
    const auto one = living_[where.id] = std::make_shared<daemon>();
    tasks_.spawn("envd", run(where.id, one, std::move(request), std::move(right)), one->ends);
    tasks_.spawn("envd listens", listen(one, executor_, std::make_shared<unique_fd>(std::move(ours))));
}

awaitable<> daemons::need(caller who, sandbox_record where, variables all)
{
    if (!living_.contains(where.id)) co_await runs_.sandboxes().admit_to_memory(where);
    if (!living_.contains(where.id)) start(who, where, std::move(all));
    const auto one = living_.at(where.id);
    const auto until = event::clock::now() + patience_with_start;
    bool in_time = true;
    while (in_time && !one->listens && one->problem.empty()) in_time = co_await one->changed.wait(until);
    if (!one->listens)
        throw sandbox_error("NotAvailable", in_time ? one->problem : "The sandbox's daemon does not start in time.");
}

awaitable<> daemons::listen(std::shared_ptr<daemon> one, asio::any_io_executor executor, std::shared_ptr<unique_fd> to)
{
    asio::posix::stream_descriptor channel(executor, to->release());
    char byte = 0;
    auto [failed, size] = co_await channel.async_read_some(asio::buffer(&byte, 1), asio::as_tuple(asio::use_awaitable));
    one->listens = !failed;
    one->changed.notify();
}

awaitable<> daemons::run(std::string id, std::shared_ptr<daemon> one, sandbox::run_request request,
                         tool_rights::ticket right)
{
    complaints said;
    sandbox::run_result ended;
    try {
        ended = co_await cells_.run(std::move(request), said);
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) ended.error = failure.what();
    }
    right = {};
    one->listens = false;
    one->problem = !said.text.empty()     ? "The sandbox's daemon has ended: " + said.text
                   : !ended.error.empty() ? ended.error
                                          : "The sandbox's daemon has ended.";
    const auto known = living_.find(id);
    if (known != living_.end() && known->second == one) living_.erase(known);
    log::debug("envd_ended", {{"sandbox", id}, {"problem", one->problem}});
    one->changed.notify();
}

std::vector<std::string> daemons::living() const
{
    std::vector<std::string> all;
    for (const auto& [id, one] : living_) all.push_back(id);
    return all;
}

awaitable<> daemons::end(std::string id)
{
    const auto known = living_.find(id);
    if (known == living_.end()) co_return;
    const auto one = known->second;
    one->ends->cancel();
    const auto until = event::clock::now() + ending_limit;
    bool in_time = true;
    while (in_time && one->problem.empty()) in_time = co_await one->changed.wait(until);
}

awaitable<> daemons::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(ending_limit);
}

}  // namespace cmcp::e2b
