#include "jupyter/kernel.hpp"

#include "audit/sink.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr std::size_t most_waiting = 1000, most_bytes_waiting = 64 << 20;
constexpr std::string_view of_requests = "_request";

constexpr std::array questions{"complete_request", "inspect_request", "is_complete_request", "kernel_info_request"};

bool is_question(std::string_view type)
{
    return std::find(questions.begin(), questions.end(), type) != questions.end();
}

json::object error_content(std::string_view name, const std::string& sentence)
{
    return {{"ename", name}, {"evalue", sentence}, {"traceback", json::array{sentence}}};
}

bool member_or(const json::object& from, std::string_view name, bool otherwise)
{
    const auto* member = from.if_contains(name);
    return member != nullptr && member->is_bool() ? member->get_bool() : otherwise;
}

json::object status_content(std::string_view state) { return {{"execution_state", state}}; }

json::object aborted_content(std::int64_t count) { return {{"status", "aborted"}, {"execution_count", count}}; }

json::object question_order(const message& heard)
{
    return {{"op", "look"}, {"question", heard.type()}, {"content", heard.content}};
}

json::object cell_order(const message& heard, const std::string& folder)
{
    const auto& content = heard.content;
    const bool silent = member_or(content, "silent", false);
    json::object options{{"silent", silent},
                         {"store_history", !silent && member_or(content, "store_history", true)},
                         {"user_expressions", object_of(content, "user_expressions")},
                         {"folder", folder}};
    return {{"op", "run"}, {"code", text_of(content, "code")}, {"notebook", std::move(options)}};
}

// The reply to what the server answers by itself; empty: the message wants no reply.
json::object fixed_content(std::string_view type)
{
    if (type == "history_request") return {{"status", "ok"}, {"history", json::array()}};
    if (type == "comm_info_request") return {{"status", "ok"}, {"comms", json::object()}};
    return {};
}

}  // namespace

/// Requests wait until its end.
struct kernel::restart_mark {
    explicit restart_mark(kernel& one) : of(one) { ++of.restarting_; }
    restart_mark(const restart_mark&) = delete;
    restart_mark& operator=(const restart_mark&) = delete;
    ~restart_mark()
    {
        --of.restarting_;
        of.restarted_.notify();
    }
    kernel& of;
};

json::object kernel::model() const
{
    return {{"id", at_.id},
            {"name", at_.spec},
            {"last_activity", timestamp(active_)},
            {"execution_state", state_},
            {"connections", clients_.size()}};
}

awaitable<> kernel::serve(std::shared_ptr<client> one)
{
    const auto self = shared_from_this();
    clients_.push_back(one);
    if (working_) {
        const auto busy = new_message("iopub", "status", status_content(state_), parent_of_state_);
        one->post(std::make_shared<const std::string>(write_message(busy, one->as())));
    }
    client::reader reader = [self, from = std::weak_ptr(one)](message heard) {
        if (const auto there = from.lock()) self->take(std::move(heard), there);
    };
    co_await one->run(std::move(reader));
    std::erase(clients_, one);
    used_ = event::clock::now();
}

void kernel::take(message heard, const std::shared_ptr<client>& from)
{
    if (heard.channel == "stdin") return;  // the server asks nothing there
    if (heard.type() == "interrupt_request" || heard.type() == "shutdown_request")
        return take_order(std::move(heard), from);
    if (queue_.size() >= most_waiting || waiting_bytes_ + heard.size > most_bytes_waiting) return from->close();
    waiting_bytes_ += heard.size;
    const bool aborted = from->is_unaware() && heard.type() == "execute_request";
    queue_.push_back({std::move(heard), from, aborted});
    if (std::exchange(working_, true)) return;
    struct worker {
        static awaitable<> run(std::shared_ptr<kernel> of) { co_await of->work(); }
    };
    tasks_.spawn("jupyter kernel", worker::run(shared_from_this()));
}

// Orders overtake what waits.
void kernel::take_order(message heard, const std::shared_ptr<client>& from)
{
    const bool restarts = member_or(heard.content, "restart", false), stops = heard.type() == "shutdown_request";
    json::object content{{"status", "ok"}};
    if (stops) content["restart"] = restarts;
    reply({std::move(heard), from}, std::move(content));
    if (!stops) return interrupt();
    struct stopper {
        static awaitable<> run(std::shared_ptr<kernel> of) { co_await of->restart(); }
    };
    tasks_.spawn("jupyter shutdown", stopper::run(shared_from_this()));
}

awaitable<> kernel::work()
{
    while (!queue_.empty()) {
        while (restarting_ != 0) co_await restarted_.wait();
        auto next = std::move(queue_.front());
        queue_.pop_front();
        waiting_bytes_ -= next.heard.size;
        co_await answer(std::move(next));
    }
    working_ = false;
    used_ = event::clock::now();
}

awaitable<> kernel::answer(request one)
{
    const auto parent = one.heard.header;
    active_ = std::chrono::system_clock::now();
    co_await publish_state("busy", parent);
    auto content = aborted_content(count_);
    if (!one.aborted) content = co_await reply_to(one.heard);
    if (!content.empty()) reply(one, std::move(content));
    active_ = std::chrono::system_clock::now();
    co_await publish_state("idle", parent);
}

awaitable<json::object> kernel::reply_to(message heard)
{
    auto content = fixed_content(heard.type());
    if (heard.type() == "execute_request")
        content = co_await execute(std::move(heard));
    else if (is_question(heard.type()))
        content = co_await look(std::move(heard));
    co_return content;
}

// Sentences of the server come as errors of the cell, so that people see them.
awaitable<kernel_answer> kernel::converse(json::object order, json::object parent)
{
    kernel_answer answer;
    cell output([self = shared_from_this(), parent](std::string type, json::object content) {
        return self->publish(std::move(type), std::move(content), parent);
    });
    cell_io io(output);
    try {
        auto where = sandboxes_.find(at_.who, at_.sandbox);
        answer = co_await kernels_.converse(at_.who, io, std::move(where), at_.name, std::move(order), output);
    } catch (const sandbox_error& refused) {
        answer.reason = refused.what();
    }
    co_await output.finish();
    co_return answer;
}

awaitable<json::object> kernel::execute(message heard)
{
    const auto life = life_;
    const auto began = std::chrono::steady_clock::now();
    const json::object arguments{{"code", text_of(heard.content, "code")}};
    kernel_answer answer;
    answer.reason = audit::refusal();
    const bool is_recorded = answer.reason.empty();
    auto order = cell_order(heard, at_.folder);
    if (is_recorded) answer = co_await converse(std::move(order), heard.header);
    auto reply = aborted_content(count_);
    if (life == life_) reply = co_await settle(std::move(heard), std::move(answer));
    if (is_recorded) record(reply, arguments, std::chrono::steady_clock::now() - began);
    co_return reply;
}

void kernel::record(const json::object& reply, const json::object& arguments, std::chrono::duration<double> took) const
{
    audit::add(audit::kind::call,
               {{"principal", log::unless_empty(at_.who.principal)},
                {"method", "jupyter execute_request"},
                {"sandbox", at_.sandbox},
                {"cause", text_of(reply, "status")},
                {"ms", took}},
               &arguments);
}

awaitable<json::object> kernel::settle(message heard, kernel_answer answer)
{
    auto reply = std::move(answer.state);
    if (!answer.reason.empty()) {
        auto error = error_content(answer.lost ? "KernelEnded" : "ServerRefused", answer.reason);
        if (!reply.contains("error")) reply["error"] = error;
        co_await publish("error", std::move(error), heard.header);
    }
    auto restarting = status_content("restarting");
    if (answer.lost) co_await publish("status", std::move(restarting), json::object());
    count_ = answer.lost ? 0 : number_of(reply, "execution_count", count_);
    reply["execution_count"] = count_;
    reply["payload"] = json::array();
    const bool failed = reply.contains("error");
    reply["status"] = failed ? "error" : "ok";
    if (!failed) co_return reply;
    const json::object error = object_of(reply, "error");
    for (const auto& member : error) reply[member.key()] = member.value();
    reply.erase("error");
    if (member_or(heard.content, "stop_on_error", true)) abort_waiting();
    co_return reply;
}

awaitable<json::object> kernel::look(message heard)
{
    auto order = question_order(heard);
    auto answer = co_await converse(std::move(order), heard.header);
    auto reply = std::move(answer.state);
    if (!answer.ok) reply = error_content("KernelError", answer.reason);
    if (!answer.ok) reply["status"] = "error";
    co_return reply;
}

// Also what is still on its way: a client sends all cells of a notebook at once.
void kernel::abort_waiting()
{
    for (const auto& each : clients_) each->abort_unaware();
    for (auto& each : queue_) each.aborted = each.aborted || each.heard.type() == "execute_request";
}

message kernel::new_message(std::string channel, std::string type, json::object content, json::object parent) const
{
    return {std::move(channel), new_header(type, session_), std::move(parent), {}, std::move(content)};
}

// The message is behind the same ones for all clients, also where another publication waits for one that is slow.
awaitable<> kernel::publish(std::string type, json::object content, json::object parent)
{
    const auto all = clients_;
    const bool fails = type == "error";
    const auto shown = new_message("iopub", std::move(type), std::move(content), std::move(parent));
    std::array<client::text, 2> written;
    for (const auto& each : all) {
        if (fails) each->mark();
        auto& text = written[each->as() == framing::v1 ? 1 : 0];
        if (!text) text = std::make_shared<const std::string>(write_message(shown, each->as()));
        each->post(text);
    }
    for (const auto& each : all) co_await each->room();
}

awaitable<> kernel::publish_state(std::string state, json::object parent)
{
    state_ = std::move(state);
    parent_of_state_ = parent;
    auto content = status_content(state_);
    co_await publish("status", std::move(content), std::move(parent));
}

void kernel::reply(const request& to, json::object content)
{
    const auto there = to.from.lock();
    if (!there) return;
    const auto type = to.heard.type();
    auto name = std::string(type.substr(0, type.size() - std::min(type.size(), of_requests.size()))) + "_reply";
    const auto answered = new_message(to.heard.channel, std::move(name), std::move(content), to.heard.header);
    there->post(std::make_shared<const std::string>(write_message(answered, there->as())));
}

awaitable<> kernel::restart()
{
    const auto self = shared_from_this();
    ++life_;
    count_ = 0;
    for (auto& each : queue_) each.aborted = true;
    sandbox_record where;
    where.id = at_.sandbox;
    where.owner = at_.who.principal;
    const restart_mark going_on(*this);
    co_await kernels_.restart(std::move(where), false, at_.name);
}

awaitable<> kernel::end()
{
    const auto self = shared_from_this();
    co_await restart();
    co_await publish_state("dead", json::object());
    const auto all = clients_;
    for (const auto& each : all) each->close();
}

}  // namespace cmcp::jupyter
