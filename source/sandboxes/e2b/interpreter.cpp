#include "e2b/interpreter.hpp"

#include "audit/sink.hpp"
#include "http/body_stream.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "jupyter/cell.hpp"
#include "log/log.hpp"
#include "text/ascii.hpp"
#include "text/random_id.hpp"

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

std::string in_python(std::string_view text) { return jsonrpc::write_json(text); }

std::string enter_folder(std::string_view folder)
{
    return "import os as _os\n_os.makedirs(" + in_python(folder) + ", exist_ok=True)\n_os.chdir(" + in_python(folder) +
           ")\ndel _os";
}

std::string set_variables(const json::object& all)
{
    const auto text = in_python(jsonrpc::write_json(all));
    return "import json as _json, os as _os\n_e2b_set = _json.loads(" + text +
           ")\n_e2b_before = {name: _os.environ.get(name) for name in _e2b_set}\n_os.environ.update(_e2b_set)";
}

constexpr const char* reset_variables =
    "for _name, _value in _e2b_before.items():\n"
    "    _os.environ.pop(_name, None) if _value is None else _os.environ.__setitem__(_name, _value)";

awaitable<> write_message(stream_body& to, std::string type, std::string content)
{
    const auto line = line_of(type, jsonrpc::read_object(content));
    if (!line.empty()) co_await to.write(line);
}

awaitable<> ignore(std::string, std::string) { co_return; }

class deaf final : public kernel_listener {
public:
    awaitable<> receive(sandbox::stream, std::string_view) override { co_return; }
    awaitable<> show(std::string, std::string) override { co_return; }
    awaitable<json::object> ask(json::object) override { co_return json::object{{"problem", "Nobody answers."}}; }
};

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

interpreter::context& interpreter::of_language(const sandbox_record& where, const std::string& language)
{
    auto& all = contexts_[where.id];
    for (auto& each : all)
        if (each.language == language && each.kernel.empty()) return each;
    all.push_back({random_id(16), language, {}, {}});
    return all.back();
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
        auto reply = co_await begin_context(std::move(who), std::move(where), of, std::move(wish));
        co_return reply;
    }
    const auto shown = [](const context& one) {
        return json::object{{"id", one.id}, {"language", one.language}, {"cwd", one.folder}};
    };
    if (path == "/contexts" && method == "GET") {
        auto& first = of_language(where, "python");
        if (first.folder.empty()) first.folder = home_;
        json::array rows;
        for (const auto& each : contexts_[where.id]) rows.push_back(shown(each));
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

awaitable<http_reply> interpreter::begin_context(caller who, sandbox_record where, const terms& of, json::object wish)
{
    auto language = lower_case(text_of(wish, "language"));
    if (language.empty()) language = "python";
    if (language != "python") co_return text_reply(500, "Failed to create context: there is no kernel for " + language);
    const context fresh{random_id(16), language, text_of(wish, "cwd"), "e2b-" + std::to_string(next_++)};
    const auto folder = fresh.folder.empty() ? home_ : fresh.folder;
    of_language(where, "python");
    co_await kernels_.restart(where, false, fresh.kernel);
    const auto id = where.id;
    co_await run_silently(std::move(who), std::move(where), fresh.kernel, enter_folder(folder), of.variables);
    contexts_[id].push_back(fresh);
    contexts_[id].back().folder = folder;
    co_return as_json(json::object{{"id", fresh.id}, {"language", language}, {"cwd", folder}});
}

awaitable<kernel_answer> interpreter::run(caller who, sandbox_record where, std::string kernel, std::string code,
                                          const json::object& variables, bool silent, kernel_listener& to)
{
    json::object options{{"silent", silent}, {"store_history", !silent}, {"allow_stdin", false},
                         {"path", ""},       {"environment", variables}, {"user_expressions", json::object()}};
    const auto bytes = code.size();
    json::object order{{"op", "run"}, {"code", code}};
    order["notebook"] = std::move(options);
    jupyter::cell warnings(ignore);
    jupyter::cell_io io(warnings);
    auto answer = co_await kernels_.converse(std::move(who), io, std::move(where), std::move(kernel), std::move(order),
                                             bytes, to);
    co_return answer;
}

awaitable<> interpreter::run_silently(caller who, sandbox_record where, std::string kernel, std::string code,
                                      const json::object& variables)
{
    deaf nobody;
    co_await run(std::move(who), std::move(where), std::move(kernel), std::move(code), variables, true, nobody);
}

awaitable<std::optional<http_reply>> interpreter::execute(exchange& x, caller who, sandbox_record where,
                                                          const terms& of, json::object wish)
{
    const auto id = text_of(wish, "context_id");
    auto language = lower_case(text_of(wish, "language"));
    if (!id.empty() && !language.empty())
        co_return text_reply(400, "Only one of context_id or language can be provided");
    if (language.empty()) language = "python";
    if (language != "python" && language != "bash")
        co_return text_reply(500, "Failed to create context: there is no kernel for " + language);
    std::string kernel;
    if (!id.empty()) {
        const auto* known = find(where.id, id);
        if (known == nullptr) co_return text_reply(404, "Context " + id.substr(0, 100) + " not found");
        kernel = known->kernel;
    }
    if (auto unwritten = audit::refusal(); !unwritten.empty()) co_return text_reply(503, std::move(unwritten));
    auto code = text_of(wish, "code");
    if (language == "bash") code = "%%bash\n" + code;
    const auto& variables = object_of(wish, "env_vars");
    const auto began = std::chrono::steady_clock::now();
    if (!variables.empty()) co_await run_silently(who, where, kernel, set_variables(variables), of.variables);
    const bool there = co_await x.begin_stream("application/x-ndjson", {}, {});
    if (!there) co_return std::nullopt;
    auto body = x.body();
    x.watch([this, id = where.id, kernel] { kernels_.interrupt(id, kernel); });
    jupyter::cell output([&body](std::string type, std::string content) {
        return write_message(body, std::move(type), std::move(content));
    });
    std::string problem;
    kernel_answer answer;
    try {
        answer = co_await run(who, where, kernel, std::move(code), of.variables, false, output);
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
    if (!variables.empty()) co_await run_silently(who, where, kernel, reset_variables, of.variables);
    co_return std::nullopt;
}

}  // namespace cmcp::e2b
