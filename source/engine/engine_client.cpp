#include "engine/engine_client.hpp"

#include "async/with_deadline.hpp"
#include "engine/engine_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <boost/system/system_error.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <initializer_list>

namespace cmcp::engine {
namespace {

constexpr const char* version = "/v1.41";
constexpr auto time_to_answer = std::chrono::seconds(60);  // an engine under load makes containers slowly

std::string encoded(std::string_view text) { return boost::urls::encode(text, boost::urls::unreserved_chars); }

bool flag_at(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
}

int number_at(const json::object& from, std::string_view name, int otherwise)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_int64() ? static_cast<int>(value->get_int64()) : otherwise;
}

[[noreturn]] void refuse(const engine_answer& answer, const std::string& what)
{
    std::string reason = text_of(jsonrpc::read_object(answer.body), "message");
    if (reason.empty()) reason = "HTTP status " + std::to_string(answer.status);
    throw engine_error(answer.status, "The container engine could not " + what + ": " + reason.substr(0, 600) + ".");
}

void expect(const engine_answer& answer, std::initializer_list<int> wanted, const std::string& what)
{
    for (const int status : wanted)
        if (answer.status == status) return;
    refuse(answer, what);
}

[[noreturn]] void not_there(const engine_address& where, const std::string& reason)
{
    throw engine_error(
        0, "The container engine does not answer at " + where.socket + " (" + reason + "). " + where.advice);
}

// The value of `work`, within the time to answer unless `forever`; failures of the connection as an engine_error.
template <class T>
awaitable<T> answered(awaitable<T> work, const engine_address& where, bool forever)
{
    std::string reason;
    try {
        auto bounded = forever ? std::move(work) : with_deadline(std::move(work), time_to_answer);
        T value = co_await std::move(bounded);
        co_return value;
    } catch (const boost::system::system_error& failure) {
        if (failure.code() == asio::error::operation_aborted) throw;
        reason = failure.code().message();
    } catch (const deadline_exceeded&) {
        reason = "no answer within a minute";
    }
    not_there(where, reason);
}

}  // namespace

awaitable<engine_answer> engine_client::exchange(std::string method, std::string target, std::string body)
{
    engine_connection connection(executor_);
    auto connecting = connection.connect(where_.socket);
    co_await std::move(connecting);
    auto asking = connection.ask(std::move(method), version + target, std::move(body));
    auto answer = co_await std::move(asking);
    co_return answer;
}

awaitable<engine_answer> engine_client::ask(std::string method, std::string target, std::string body, bool forever)
{
    auto work = exchange(std::move(method), std::move(target), std::move(body));
    auto answer = co_await answered(std::move(work), where_, forever);
    co_return answer;
}

// A single request, because Podman asks the package manager for its parts at each: seconds on a busy machine.
awaitable<engine_facts> engine_client::facts()
{
    const auto info = co_await ask("GET", "/info");
    expect(info, {200}, "tell about itself");
    const auto machine = jsonrpc::read_object(info.body);
    engine_facts facts;
    facts.podman = machine.contains("BuildahVersion");
    facts.name = facts.podman ? "Podman" : "Docker";
    facts.version = text_of(machine, "ServerVersion");
    facts.runtime = text_of(machine, "DefaultRuntime");
    facts.cgroup_version = text_of(machine, "CgroupVersion");
    facts.memory_limit = flag_at(machine, "MemoryLimit");
    facts.process_limit = flag_at(machine, "PidsLimit");
    facts.rootless = flag_at(machine, "Rootless");
    if (const auto* options = machine.if_contains("SecurityOptions"); options != nullptr && options->is_array())
        for (const auto& each : options->get_array())
            if (each.is_string() && each.get_string().find("rootless") != json::string::npos) facts.rootless = true;
    co_return facts;
}

awaitable<std::optional<image_facts>> engine_client::image(std::string name)
{
    const auto answer = co_await ask("GET", "/images/" + encoded(name) + "/json");
    if (answer.status == 404) co_return std::nullopt;
    expect(answer, {200}, "look at the image " + name);
    image_facts facts;
    const auto reply = jsonrpc::read_object(answer.body);
    for (const auto& each : object_of(object_of(reply, "Config"), "Volumes")) facts.volumes.emplace_back(each.key());
    co_return facts;
}

awaitable<std::string> engine_client::create(json::object container)
{
    std::string body = jsonrpc::write_json(container);
    const auto answer = co_await ask("POST", "/containers/create", std::move(body));
    expect(answer, {201}, "make a container");
    std::string id = text_of(jsonrpc::read_object(answer.body), "Id");
    if (id.empty()) refuse(answer, "make a container");
    co_return id;
}

awaitable<std::unique_ptr<engine_connection>> engine_client::hijack(std::string target)
{
    auto connection = std::make_unique<engine_connection>(executor_);
    auto connecting = connection->connect(where_.socket);
    co_await std::move(connecting);
    auto asking = connection->hijack(std::move(target));
    const auto answer = co_await std::move(asking);
    expect(answer, {101, 200}, "attach to a container");
    co_return connection;
}

awaitable<std::unique_ptr<engine_connection>> engine_client::attach(std::string id)
{
    auto work = hijack(std::string(version) + "/containers/" + id + "/attach?stream=1&stdout=1&stderr=1");
    auto connection = co_await answered(std::move(work), where_, false);
    co_return connection;
}

awaitable<> engine_client::start(std::string id)
{
    const auto answer = co_await ask("POST", "/containers/" + id + "/start");
    expect(answer, {204, 304}, "start a container");
}

awaitable<int> engine_client::wait(std::string id)
{
    // Podman looks every 250 ms unless told otherwise; Docker does not know the parameter.
    std::string no_body;
    auto waiting = ask("POST", "/containers/" + id + "/wait?interval=20ms", std::move(no_body), true);
    const auto answer = co_await std::move(waiting);
    expect(answer, {200}, "wait for a container");
    co_return number_at(jsonrpc::read_object(answer.body), "StatusCode", -1);
}

awaitable<container_state> engine_client::inspect(std::string id)
{
    const auto answer = co_await ask("GET", "/containers/" + id + "/json");
    expect(answer, {200}, "look at a container");
    const auto reply = jsonrpc::read_object(answer.body);
    const auto& state = object_of(reply, "State");
    container_state container;
    container.running = flag_at(state, "Running");
    container.out_of_memory = flag_at(state, "OOMKilled");
    container.exit_code = number_at(state, "ExitCode", -1);
    container.error = text_of(state, "Error");
    co_return container;
}

awaitable<std::uint64_t> engine_client::peak_memory(std::string id)
{
    const auto answer = co_await ask("GET", "/containers/" + id + "/stats?stream=false&one-shot=true");
    if (answer.status != 200) co_return 0;
    const auto reply = jsonrpc::read_object(answer.body);
    const auto& memory = object_of(reply, "memory_stats");
    std::uint64_t peak = 0;
    for (const char* name : {"max_usage", "usage"})  // with cgroup v2 there is the present figure only
        if (const auto* value = memory.if_contains(name); value != nullptr && value->is_number())
            peak = std::max(peak, value->to_number<std::uint64_t>());
    co_return peak;
}

awaitable<> engine_client::kill(std::string id)
{
    const auto answer = co_await ask("POST", "/containers/" + id + "/kill?signal=SIGKILL");
    // For a container that has ended by itself Docker answers 409, Podman before version 4.4 500.
    expect(answer, {204, 404, 409, 500}, "end a container");
}

awaitable<> engine_client::remove(std::string id)
{
    const auto answer = co_await ask("DELETE", "/containers/" + id + "?force=1&v=1");
    expect(answer, {200, 204, 404, 409}, "remove a container");  // 409: somebody does so already
}

awaitable<std::vector<listed_container>> engine_client::list(std::vector<std::string> labels)
{
    json::object filters;
    filters["label"] = json::value_from(labels);
    const auto answer = co_await ask("GET", "/containers/json?all=1&filters=" + encoded(jsonrpc::write_json(filters)));
    expect(answer, {200}, "list its containers");
    json::error_code failure;
    const auto reply = json::parse(answer.body, failure);
    std::vector<listed_container> containers;
    if (failure || !reply.is_array()) co_return containers;
    for (const auto& each : reply.get_array()) {
        if (!each.is_object()) continue;
        listed_container one;
        one.id = text_of(each.get_object(), "Id");
        for (const auto& label : object_of(each.get_object(), "Labels"))
            if (label.value().is_string()) one.labels[label.key()] = std::string(label.value().get_string());
        containers.push_back(std::move(one));
    }
    co_return containers;
}

}  // namespace cmcp::engine
