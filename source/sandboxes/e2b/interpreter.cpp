#include "e2b/interpreter.hpp"

#include "audit/sink.hpp"
#include "http/body_stream.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "jupyter/cell.hpp"
#include "log/log.hpp"
#include "text/ascii.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp::e2b {

namespace {

constexpr std::size_t longest_code = 16 << 20;

struct form {
    std::string_view media, name;
};
constexpr std::array forms{form{"text/plain", "text"},        form{"text/html", "html"},
                           form{"text/markdown", "markdown"}, form{"image/svg+xml", "svg"},
                           form{"image/png", "png"},          form{"image/jpeg", "jpeg"},
                           form{"application/pdf", "pdf"},    form{"text/latex", "latex"},
                           form{"application/json", "json"},  form{"application/javascript", "javascript"},
                           form{"e2b/data", "data"},          form{"e2b/chart", "chart"}};

std::string_view name_of(std::string_view media)
{
    for (const auto& each : forms)
        if (each.media == media) return each.name;
    return {};
}

// E2B shows a text as it is, and not as Python writes it.
void unquote(json::string& text)
{
    const bool quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.front() == text.back();
    if (quoted) text = json::string(std::string_view(text).substr(1, text.size() - 2));
}

json::object result_of(const json::object& data, bool is_main)
{
    json::object row{{"type", "result"}, {"is_main_result", is_main}};
    json::object others;
    for (const auto& [media, value] : data) {
        const auto name = name_of(media);
        if (name.empty()) {
            others[media] = value;
            continue;
        }
        row[name] = value;
        if (auto* text = row[name].if_string(); text != nullptr && name == "text") unquote(*text);
    }
    if (!others.empty()) row["extra"] = std::move(others);
    return row;
}

http_reply text_reply(int status, std::string text)
{
    http_reply reply;
    reply.status = status;
    reply.content_type = "text/plain; charset=utf-8";
    reply.body = std::move(text);
    return reply;
}

http_reply as_json(const json::value& body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    return reply;
}

constexpr std::size_t most_contexts = 100;  // of a sandbox

// As clients may call them; empty: there is no kernel for it.
std::string known_language(std::string language)
{
    language = lower_case(language);
    if (language.empty()) return "python";
    if (language == "js") return "javascript";
    if (language == "ts") return "typescript";
    constexpr std::array<std::string_view, 4> known{"python", "bash", "javascript", "typescript"};
    return std::ranges::find(known, language) == known.end() ? std::string() : language;
}

bool runs_in_node(std::string_view language) { return language == "javascript" || language == "typescript"; }

http_reply no_kernel_for(const std::string& language)
{
    return text_reply(500, "Failed to create context: there is no kernel for " + language.substr(0, 100) +
                               "; there are python, javascript, typescript and bash.");
}

awaitable<> write_message(stream_body& to, std::string type, std::string content)
{
    const auto line = line_of(type, jsonrpc::read_object(content));
    if (!line.empty()) co_await to.write(line);
}

awaitable<> ignore(std::string, std::string) { co_return; }

}  // namespace

std::string line_of(std::string_view type, const json::object& content)
{
    json::object row;
    if (type == "stream") {
        row["type"] = view_of(content, "name");
        row["text"] = view_of(content, "text");
    } else if (type == "execute_result" || type == "display_data") {
        row = result_of(object_of(content, "data"), type == "execute_result");
    } else if (type == "error") {
        std::string trace;
        if (const auto* lines = content.if_contains("traceback"); lines != nullptr && lines->is_array())
            for (const auto& each : lines->get_array())
                if (each.is_string()) trace.append(trace.empty() ? "" : "\n").append(each.get_string());
        row = {{"type", "error"}, {"name", view_of(content, "ename")}, {"value", view_of(content, "evalue")}};
        row["traceback"] = trace;
    } else {
        return {};
    }
    return jsonrpc::write_json(row) + "\n";
}

interpreter::contexts& interpreter::contexts_of(const sandbox_record& where)
{
    auto& all = contexts_[where.id];
    if (all.empty())
        for (const auto* each : {"python", "javascript"}) all.push_back(usual(each));
    return all;
}

// That of Python is the sandbox's own kernel.
interpreter::context interpreter::usual(const std::string& language) const
{
    return {random_id(16), language, home_, runs_in_node(language) ? "e2b-" + language : std::string(), true};
}

interpreter::context& interpreter::of_language(const sandbox_record& where, const std::string& language)
{
    auto& all = contexts_of(where);
    for (auto& each : all)
        if (each.language == language && each.is_usual) return each;
    return *all.insert(std::ranges::find(all, false, &context::is_usual), usual(language));
}

json::object interpreter::shown(const context& one)
{
    return {{"id", one.id}, {"language", one.language}, {"cwd", one.folder}};
}

interpreter::context* interpreter::find(const std::string& sandbox, const std::string& id)
{
    for (auto& each : contexts_[sandbox])
        if (each.id == id) return &each;
    return nullptr;
}

awaitable<std::optional<http_reply>> interpreter::serve(exchange& x, caller who, sandbox_record where, const terms& of,
                                                        std::string path)
{
    const http_request& request = x.request();
    std::string body;
    while (request.stream) {
        auto piece = co_await request.stream->next();
        if (!piece) break;
        body += *piece;
        if (body.size() > longest_code) co_return text_reply(413, "The body has at most 16 MiB.");
    }
    auto wish = jsonrpc::read_object(body);
    const auto method = request.method;
    if (path == "/health") co_return text_reply(200, "OK");
    if (path == "/execute" && method == "POST") {
        auto reply = co_await execute(x, std::move(who), std::move(where), of, std::move(wish));
        co_return reply;
    }
    if (path == "/contexts" && method == "POST") {
        auto reply = co_await begin_context(std::move(where), std::move(wish));
        co_return reply;
    }
    if (path == "/contexts" && method == "GET") {
        json::array rows;
        for (const auto& each : contexts_of(where)) rows.push_back(shown(each));
        co_return as_json(rows);
    }
    constexpr std::string_view folder = "/contexts/";
    if (!path.starts_with(folder)) co_return text_reply(404, "There is no such path.");
    const auto rest = path.substr(folder.size());
    const auto id = rest.substr(0, rest.find('/'));
    const auto* known = find(where.id, id);
    if (known == nullptr) co_return text_reply(404, "Context " + id.substr(0, 100) + " not found");
    const auto kernel = known->kernel;
    if (method == "DELETE" && rest == id) {
        std::erase_if(contexts_[where.id], [&](const context& each) { return each.id == id; });
        co_await kernels_.end_kernel(where.id, kernel, "its context was removed");
        co_return as_json(nullptr);
    }
    if (method == "POST" && rest == id + "/restart") {
        co_await kernels_.restart(std::move(where), false, kernel);
        co_return as_json(nullptr);
    }
    if (method == "GET" && rest == id) co_return as_json(shown(*known));
    co_return text_reply(404, "There is no such path.");
}

awaitable<http_reply> interpreter::begin_context(sandbox_record where, json::object wish)
{
    const auto language = known_language(text_of(wish, "language"));
    if (language.empty()) co_return no_kernel_for(text_of(wish, "language"));
    auto& all = contexts_of(where);
    if (all.size() >= most_contexts)
        co_return text_reply(429, "A sandbox has at most " + std::to_string(most_contexts) +
                                      " contexts: remove one (removeCodeContext).");
    auto folder = text_of(wish, "cwd");
    if (folder.empty()) folder = home_;
    const auto& fresh =
        all.emplace_back(context{random_id(16), language, std::move(folder), "e2b-" + std::to_string(next_++), false});
    auto row = shown(fresh);
    auto kernel = fresh.kernel;
    co_await kernels_.restart(std::move(where), false, std::move(kernel));  // nothing is left of an earlier one
    co_return as_json(row);
}

awaitable<kernel_answer> interpreter::run(caller who, sandbox_record where, context in, std::string code,
                                          json::object environment, json::object variables, kernel_listener& to)
{
    json::object options{{"store_history", true}, {"allow_stdin", false}, {"path", in.folder},
                         {"makes_path", true},    {"data_forms", true},   {"user_expressions", json::object()}};
    options["environment"] = std::move(environment);
    options["variables"] = std::move(variables);
    options["typescript"] = in.language == "typescript";
    const auto bytes = code.size();
    json::object order{{"op", "run"}, {"code", in.language == "bash" ? "%%bash\n" + code : std::move(code)}};
    order["notebook"] = std::move(options);
    jupyter::cell warnings(ignore);
    jupyter::cell_io io(warnings);
    kernel_choice which{in.kernel, runs_in_node(in.language) ? kernel_language::javascript : kernel_language::python};
    auto answer =
        co_await kernels_.converse(std::move(who), io, std::move(where), std::move(which), std::move(order), bytes, to);
    co_return answer;
}

awaitable<std::optional<http_reply>> interpreter::execute(exchange& x, caller who, sandbox_record where,
                                                          const terms& of, json::object wish)
{
    const auto id = text_of(wish, "context_id");
    const auto language = known_language(text_of(wish, "language"));
    if (!id.empty() && !text_of(wish, "language").empty())
        co_return text_reply(400, "Only one of context_id or language can be provided");
    if (language.empty()) co_return no_kernel_for(text_of(wish, "language"));
    if (const auto* code = wish.if_contains("code"); code == nullptr || !code->is_string())
        co_return text_reply(422, "code must be a text.");
    const auto* known = id.empty() ? &of_language(where, language) : find(where.id, id);
    if (known == nullptr) co_return text_reply(404, "Context " + id.substr(0, 100) + " not found");
    const context in = *known;
    if (auto unwritten = audit::refusal(); !unwritten.empty()) co_return text_reply(503, std::move(unwritten));
    auto code = text_of(wish, "code");
    const auto began = std::chrono::steady_clock::now();
    const bool there = co_await x.begin_stream("application/x-ndjson", {}, {});
    if (!there) co_return std::nullopt;
    auto body = x.body();
    x.watch([this, sandbox = where.id, kernel = in.kernel] { kernels_.interrupt(sandbox, kernel); });
    jupyter::cell output([&body](std::string type, std::string content) {
        return write_message(body, std::move(type), std::move(content));
    });
    std::string problem;
    kernel_answer answer;
    try {
        auto variables = object_of(wish, "env_vars");
        answer = co_await run(who, where, in, std::move(code), of.variables, std::move(variables), output);
        problem = answer.reason;
    } catch (const sandbox_error& refused) {
        problem = refused.what();
    }
    co_await output.finish();
    x.unwatch();
    if (!problem.empty()) {
        const json::object error{{"ename", "ServerRefused"}, {"evalue", problem}, {"traceback", json::array{problem}}};
        const auto line = line_of("error", error);
        co_await body.write(line);
    }
    const json::object last{{"type", "number_of_executions"},
                            {"execution_count", number_of(answer.state, "execution_count")}};
    const auto line = jsonrpc::write_json(last) + "\n";
    co_await body.write(line);
    co_await body.end();
    const json::object arguments{{"code", text_of(wish, "code")}};
    audit::add(audit::kind::call,
               {{"principal", log::unless_empty(who.principal)},
                {"method", "e2b execute"},
                {"sandbox", where.id},
                {"cause", answer.state.contains("error") || !problem.empty() ? "error" : "ok"},
                {"ms", std::chrono::duration<double>(std::chrono::steady_clock::now() - began)}},
               &arguments);
    co_return std::nullopt;
}

}  // namespace cmcp::e2b
