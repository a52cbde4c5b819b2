#include "engine/engine_client.hpp"

#include "async/with_deadline.hpp"
#include "engine/engine_options.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <initializer_list>

namespace cmcp::engine {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t longest_answer = 16 << 20;
constexpr std::size_t piece = 32 << 10;
constexpr const char* version = "/v1.41";
constexpr auto time_to_answer = std::chrono::seconds(60);  // an engine under load makes containers slowly

std::string encoded(std::string_view text) { return boost::urls::encode(text, boost::urls::unreserved_chars); }

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

awaitable<engine_answer> engine_connection::ask(std::string path, std::string method, std::string target,
                                                std::string body, bool stream)
{
    const asio::local::stream_protocol::endpoint where(path);
    co_await socket_.async_connect(where, asio::use_awaitable);
    http::request<http::string_body> request(http::string_to_verb(method), target, 11);
    request.set(http::field::host, "engine");
    request.set(http::field::connection, stream ? "Upgrade" : "close");
    if (stream) request.set(http::field::upgrade, "tcp");
    if (!body.empty()) request.set(http::field::content_type, "application/json");
    request.body() = std::move(body);
    request.prepare_payload();
    co_await http::async_write(socket_, request, asio::use_awaitable);
    http::response_parser<http::string_body> parser;
    parser.body_limit(longest_answer);
    co_await http::async_read_header(socket_, buffer_, parser, asio::use_awaitable);
    engine_answer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    if (stream && (answer.status == 101 || answer.status == 200)) co_return answer;
    co_await http::async_read(socket_, buffer_, parser, asio::use_awaitable);
    answer.body = std::move(parser.get().body());
    co_return answer;
}

awaitable<std::string> engine_connection::read_some()
{
    std::string bytes;
    if (buffer_.size() != 0) {
        // Bytes that came together with the head of the answer.
        const auto early = buffer_.data();
        bytes.assign(static_cast<const char*>(early.data()), early.size());
        buffer_.consume(buffer_.size());
        co_return bytes;
    }
    bytes.resize(piece);
    auto [failure, size] = co_await socket_.async_read_some(asio::buffer(bytes), as_tuple);
    if (failure && failure != asio::error::eof && failure != asio::error::connection_reset)
        throw boost::system::system_error(failure);
    bytes.resize(failure ? 0 : size);
    co_return bytes;
}

awaitable<engine_answer> engine_client::exchange(std::string method, std::string target, std::string body)
{
    engine_connection connection(executor_);
    auto answer = co_await connection.ask(where_.socket, std::move(method), version + target, std::move(body), false);
    co_return answer;
}

awaitable<engine_answer> engine_client::ask(std::string method, std::string target, std::string body, bool forever)
{
    return answered(exchange(std::move(method), std::move(target), std::move(body)), where_, forever);
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
    facts.memory_limit = flag_of(machine, "MemoryLimit");
    facts.process_limit = flag_of(machine, "PidsLimit");
    facts.rootless = flag_of(machine, "Rootless");
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

awaitable<std::unique_ptr<engine_connection>> engine_client::open_stream(std::string target)
{
    auto connection = std::make_unique<engine_connection>(executor_);
    const auto answer = co_await connection->ask(where_.socket, "POST", version + target, std::string(), true);
    expect(answer, {101, 200}, "attach to a container");
    co_return connection;
}

awaitable<std::unique_ptr<engine_connection>> engine_client::attach(std::string id)
{
    return answered(open_stream("/containers/" + id + "/attach?stream=1&stdout=1&stderr=1"), where_, false);
}

awaitable<> engine_client::start(std::string id)
{
    const auto answer = co_await ask("POST", "/containers/" + id + "/start");
    expect(answer, {204, 304}, "start a container");
}

awaitable<int> engine_client::wait(std::string id)
{
    // Podman looks every 250 ms unless told otherwise; Docker does not know the parameter.
    const auto answer = co_await ask("POST", "/containers/" + id + "/wait?interval=20ms", std::string(), true);
    expect(answer, {200}, "wait for a container");
    co_return static_cast<int>(number_of(jsonrpc::read_object(answer.body), "StatusCode", -1));
}

awaitable<container_state> engine_client::inspect(std::string id)
{
    const auto answer = co_await ask("GET", "/containers/" + id + "/json");
    expect(answer, {200}, "look at a container");
    const auto reply = jsonrpc::read_object(answer.body);
    const auto& state = object_of(reply, "State");
    container_state container;
    container.running = flag_of(state, "Running");
    container.out_of_memory = flag_of(state, "OOMKilled");
    container.exit_code = static_cast<int>(number_of(state, "ExitCode", -1));
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
