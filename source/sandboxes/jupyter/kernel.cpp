#include "jupyter/kernel.hpp"

#include "async/sized_work.hpp"
#include "audit/sink.hpp"
#include "jsonrpc/canonical_json.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr std::size_t longest_typed = 64 << 10;  // answer to a question of a cell
constexpr std::size_t most_waiting = 1000, most_bytes_waiting = 64 << 20;
constexpr std::string_view of_requests = "_request";

constexpr std::array questions{"complete_request", "history_request", "inspect_request", "is_complete_request",
                               "kernel_info_request"};

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

// These take the content out of the message.
json::object question_order(message& heard)
{
    json::object order{{"op", "look"}, {"question", heard.type()}};
    order["content"] = std::move(heard.content);
    return order;
}

json::object cell_order(message& heard, const kernel_key& at)
{
    auto& content = heard.content;
    const bool silent = member_or(content, "silent", false);
    json::object options{{"silent", silent},
                         {"store_history", !silent && member_or(content, "store_history", true)},
                         {"allow_stdin", flag_of(content, "allow_stdin")},
                         {"path", at.path},
                         {"environment", at.environment}};
    json::object order{{"op", "run"}, {"code", ""}};
    if (auto* code = content.if_contains("code"); code != nullptr && code->is_string())
        order["code"] = std::move(*code);
    auto* expressions = content.if_contains("user_expressions");
    options["user_expressions"] = json::object();
    if (expressions != nullptr && expressions->is_object()) options["user_expressions"] = std::move(*expressions);
    order["notebook"] = std::move(options);
    return order;
}

// A debugger's request has the form of the Debug Adapter Protocol, and so has the reply.
json::object no_debugger(const json::object& request)
{
    return {{"type", "response"},
            {"seq", 0},
            {"request_seq", number_of(request, "seq")},
            {"command", text_of(request, "command")},
            {"success", false},
            {"message", "This kernel has no debugger; kernel_info_reply says so."}};
}

// The reply to what the server answers by itself; empty: the message wants no reply.
json::object fixed_content(const message& heard)
{
    const auto type = heard.type();
    if (type == "comm_info_request") return {{"status", "ok"}, {"comms", json::object()}};
    if (type == "connect_request") return {{"status", "ok"}};  // the kernel has no ports of its own
    if (type == "debug_request") return no_debugger(heard.content);
    if (!type.ends_with(of_requests)) return {};
    auto unknown = error_content("UnknownRequest", "This kernel does not serve " + std::string(type) + ".");
    unknown["status"] = "error";
    return unknown;
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
    answered_.notify();
    used_ = event::clock::now();
}

void kernel::take(message heard, const std::shared_ptr<client>& from)
{
    if (heard.channel == "stdin") return take_answer(heard, from);
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
    auto published = content;
    auto parent = heard.header;
    reply({std::move(heard), from}, jsonrpc::write_json(content));
    if (!stops) return interrupt();
    struct stopper {
        static awaitable<> run(std::shared_ptr<kernel> of, json::object content, json::object parent)
        {
            co_await of->publish("shutdown_reply", std::move(content), std::move(parent));
            co_await of->restart();
        }
    };
    tasks_.spawn("jupyter shutdown", stopper::run(shared_from_this(), std::move(published), std::move(parent)));
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
    std::optional<sized_content> content;  // assignment would copy what lives in memory of its own
    if (one.aborted) {
        content.emplace(sized_content{aborted_content(count_)});
    } else {
        auto replied = co_await reply_to(one);
        content.emplace(std::move(replied));
    }
    if (!content->value.empty()) {
        const auto size = content->bytes;
        auto work = [value = std::move(content->value)] { return jsonrpc::write_json(value); };
        auto text = co_await by_size(pool_, at_.who.principal, size, std::move(work));
        reply(one, std::move(text));
    }
    active_ = std::chrono::system_clock::now();
    co_await publish_state("idle", parent);
}

awaitable<kernel::sized_content> kernel::reply_to(request& one)
{
    const std::string type(one.heard.type());
    if (type == "execute_request") {
        auto content = co_await execute(one);
        co_return content;
    }
    if (is_question(type)) {
        auto content = co_await look(one);
        co_return content;
    }
    sized_content content;
    if (type == "comm_open")
        co_await refuse_comm(one.heard);
    else
        content.value = fixed_content(one.heard);
    co_return content;
}

// A client that opens a comm waits for its other end, which no kernel here has.
awaitable<> kernel::refuse_comm(message heard)
{
    log::debug("jupyter_comm_refused", {{"kernel", at_.id}, {"target", text_of(heard.content, "target_name")}});
    json::object closed{{"comm_id", text_of(heard.content, "comm_id")}, {"data", json::object()}};
    co_await publish("comm_close", std::move(closed), std::move(heard.header));
}

/// A question of a cell to a client; there is one at a time.
struct kernel::question {
    question(kernel& one, std::shared_ptr<client> to) : of(one), person(std::move(to)) { of.question_ = this; }
    question(const question&) = delete;
    question& operator=(const question&) = delete;
    ~question()
    {
        if (of.question_ == this) of.question_ = nullptr;
    }
    kernel& of;
    std::shared_ptr<client> person;
    std::optional<std::string> answer;
};

// The client that sent the cell is asked, as many may be connected.
awaitable<json::object> kernel::ask(std::shared_ptr<kernel> self, json::object header, std::weak_ptr<client> from,
                                    json::object what)
{
    json::object answer;
    const auto person = from.lock();
    if (person && self->is_connected(person)) {
        question open(*self, person);
        json::object content{{"prompt", text_of(what, "input")}, {"password", flag_of(what, "password")}};
        const auto shown = self->new_message("stdin", "input_request", std::move(content), std::move(header));
        person->post(std::make_shared<const std::string>(write_message(shown, person->as())));
        co_await person->room();
        while (!open.answer && self->is_connected(person)) co_await self->answered_.wait();
        if (open.answer) answer["value"] = *open.answer;
    }
    if (answer.empty()) answer["problem"] = "The client that sent the cell has left before it answered.";
    co_return answer;
}

void kernel::take_answer(const message& heard, const std::shared_ptr<client>& from)
{
    if (heard.type() != "input_reply" || question_ == nullptr || question_->person != from) return;
    question_->answer = std::string(utf8_prefix(view_of(heard.content, "value"), longest_typed));
    answered_.notify();
}

bool kernel::is_connected(const std::shared_ptr<client>& one) const
{
    return std::find(clients_.begin(), clients_.end(), one) != clients_.end();
}

// Sentences of the server come as errors of the cell, so that people see them.
awaitable<kernel_answer> kernel::converse(json::object order, std::size_t bytes, json::object header,
                                          std::weak_ptr<client> from)
{
    kernel_answer answer;
    const json::object parent = std::move(header);
    auto later = std::make_shared<cell>([to = weak_from_this(), parent](std::string type, std::string content) {
        return publish_late(to, std::move(type), std::move(content), parent);
    });
    const auto self = shared_from_this();
    auto publisher = [self, parent](std::string type, std::string content) {
        return self->publish_text(std::move(type), std::move(content), parent);
    };
    auto asker = [self, parent, from](json::object what) { return ask(self, parent, from, std::move(what)); };
    cell output(std::move(publisher), std::move(asker), std::move(later));
    cell_io io(output);
    try {
        auto where = sandboxes_.find(at_.who, at_.sandbox);
        kernel_choice which{at_.name, at_.language};
        answer = co_await kernels_.converse(at_.who, io, std::move(where), std::move(which), std::move(order), bytes,
                                            output);
    } catch (const sandbox_error& refused) {
        answer.reason = refused.what();
    }
    co_await output.finish();
    co_return answer;
}

awaitable<kernel::sized_content> kernel::execute(request& one)
{
    const auto life = life_;
    const auto began = std::chrono::steady_clock::now();
    const recorded_cell arguments = co_await arguments_of(one);
    kernel_answer answer;
    answer.reason = audit::refusal();
    const bool is_recorded = answer.reason.empty();
    auto wait = std::chrono::milliseconds(0);
    if (is_recorded) wait = co_await sandboxes_.limits().begin_call(at_.who.principal);
    if (wait != std::chrono::milliseconds(0)) answer.reason = quotas::refusal_of_call(wait);
    const bool stops_on_error = member_or(one.heard.content, "stop_on_error", true);
    auto order = cell_order(one.heard, at_);
    if (answer.reason.empty()) {
        auto answered = co_await converse(std::move(order), one.heard.size, one.heard.header, one.from);
        answer = std::move(answered);
    }
    const auto bytes = answer.bytes;
    std::optional<json::object> reply;
    if (life == life_) {
        auto settled = co_await settle(one.heard.header, stops_on_error, std::move(answer));
        reply.emplace(std::move(settled));
    } else {
        reply.emplace(aborted_content(count_));
    }
    if (is_recorded) record(*reply, arguments, std::chrono::steady_clock::now() - began);
    co_return sized_content{std::move(*reply), bytes};
}

// The digest of a long cell is made beside the loop.
awaitable<kernel::recorded_cell> kernel::arguments_of(const request& one)
{
    recorded_cell cell;
    if (audit::current() == nullptr) co_return cell;
    cell.arguments["code"] = view_of(one.heard.content, "code");
    if (one.heard.size <= most_on_loop) co_return cell;
    auto work = [arguments = std::move(cell.arguments)] { return jsonrpc::canonical_digest(arguments); };
    cell.digest = co_await by_size(pool_, at_.who.principal, one.heard.size, std::move(work));
    co_return cell;
}

void kernel::record(const json::object& reply, const recorded_cell& cell, std::chrono::duration<double> took) const
{
    audit::add(audit::kind::call,
               {{"principal", log::unless_empty(at_.who.principal)},
                {"method", "jupyter execute_request"},
                {"sandbox", at_.sandbox},
                {"cause", text_of(reply, "status")},
                {"ms", took}},
               &cell.arguments, cell.digest);
}

awaitable<json::object> kernel::settle(json::object header, bool stops_on_error, kernel_answer answer)
{
    auto reply = std::move(answer.state);
    if (!answer.reason.empty()) {
        auto error = error_content(answer.lost ? "KernelEnded" : "ServerRefused", answer.reason);
        if (!reply.contains("error")) reply["error"] = error;
        co_await publish("error", std::move(error), std::move(header));
    }
    auto restarting = status_content("restarting");
    if (answer.lost) co_await publish("status", std::move(restarting), json::object());
    count_ = answer.lost ? 0 : number_of(reply, "execution_count", count_);
    reply["execution_count"] = count_;
    if (!reply.contains("payload")) reply["payload"] = json::array();
    const bool failed = reply.contains("error");
    reply["status"] = failed ? "error" : "ok";
    if (!failed) co_return reply;
    json::object error(reply.storage());
    if (auto* is = reply.if_contains("error"); is->is_object()) error = std::move(is->get_object());
    for (const auto* name : {"ename", "evalue", "traceback"})
        if (auto* member = error.if_contains(name)) reply[name] = std::move(*member);
    reply.erase("error");
    if (stops_on_error) abort_waiting();
    co_return reply;
}

awaitable<kernel::sized_content> kernel::look(request& one)
{
    auto order = question_order(one.heard);
    auto answer = co_await converse(std::move(order), one.heard.size, one.heard.header, one.from);
    sized_content reply{std::move(answer.state), answer.bytes};
    if (answer.ok) co_return reply;
    sized_content failed{error_content("KernelError", answer.reason)};
    failed.value["status"] = "error";
    co_return failed;
}

// Also what is still on its way: a client sends all cells of a notebook at once.
void kernel::abort_waiting()
{
    for (const auto& each : clients_) each->abort_unaware();
    for (auto& each : queue_) each.aborted = each.aborted || each.heard.type() == "execute_request";
}

message kernel::new_message(std::string channel, std::string type, json::object content, json::object parent) const
{
    return {std::move(channel), new_header(type, session_), std::move(parent), {}, std::move(content), 0, {}};
}

// The message is behind the same ones for all clients, also where another publication waits for one that is slow.
awaitable<> kernel::publish_text(std::string type, std::string content, json::object parent)
{
    const auto all = clients_;
    const bool fails = type == "error";
    auto shown = new_message("iopub", std::move(type), {}, std::move(parent));
    shown.content_text = std::move(content);
    std::array<client::text, 2> written;
    for (const auto& each : all) {
        if (fails) each->mark();
        auto& text = written[each->as() == framing::v1 ? 1 : 0];
        if (!text) text = std::make_shared<const std::string>(write_message(shown, each->as()));
        each->post(text);
    }
    for (const auto& each : all) co_await each->room();
}

awaitable<> kernel::publish(std::string type, json::object content, json::object parent)
{
    return publish_text(std::move(type), jsonrpc::write_json(content), std::move(parent));
}

awaitable<> kernel::publish_late(std::weak_ptr<kernel> to, std::string type, std::string content, json::object parent)
{
    const auto there = to.lock();
    if (there) co_await there->publish_text(std::move(type), std::move(content), std::move(parent));
}

awaitable<> kernel::publish_state(std::string state, json::object parent)
{
    state_ = std::move(state);
    parent_of_state_ = parent;
    auto content = status_content(state_);
    co_await publish("status", std::move(content), std::move(parent));
}

void kernel::reply(const request& to, std::string content)
{
    const auto there = to.from.lock();
    if (!there) return;
    const auto type = to.heard.type();
    auto name = std::string(type.substr(0, type.size() - std::min(type.size(), of_requests.size()))) + "_reply";
    auto answered = new_message(to.heard.channel, std::move(name), {}, to.heard.header);
    answered.content_text = std::move(content);
    there->post(std::make_shared<const std::string>(write_message(answered, there->as())));
}

awaitable<> kernel::forget()
{
    ++life_;
    count_ = 0;
    for (auto& each : queue_) each.aborted = true;
    sandbox_record where;
    where.id = at_.sandbox;
    where.owner = at_.who.principal;
    co_await kernels_.restart(std::move(where), false, at_.name);
}

// The state "restarting" would tell clients that the kernel has died.
awaitable<> kernel::restart()
{
    const auto self = shared_from_this();
    const restart_mark going_on(*this);
    co_await forget();
    co_await publish_state("starting", json::object());
    co_await publish_state("idle", json::object());
}

awaitable<> kernel::end()
{
    const auto self = shared_from_this();
    const restart_mark going_on(*this);
    co_await forget();
    co_await publish_state("dead", json::object());
    const auto all = clients_;
    for (const auto& each : all) each->close();
}

}  // namespace cmcp::jupyter
