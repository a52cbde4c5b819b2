#include "jupyter/cell.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "jsonrpc/write_json.hpp"

#include <utility>

namespace cmcp::jupyter {

namespace {

std::string stream_content(std::string_view name, std::string_view text)
{
    std::string content = R"({"name":)";
    jsonrpc::append_json(content, name);
    content += R"(,"text":)";
    jsonrpc::append_json(content, text);
    return content += '}';
}

}  // namespace

awaitable<> cell::receive(sandbox::stream from, std::string_view bytes)
{
    const std::size_t stream = from == sandbox::stream::out ? 0 : 1;
    return print(stream, texts_[stream].add(bytes));
}

awaitable<> cell::print(std::size_t stream, std::string text)
{
    if (text.empty()) co_return;
    auto content = stream_content(stream == 0 ? "stdout" : "stderr", text);
    co_await publish_("stream", std::move(content));
}

awaitable<> cell::show(std::string kind, std::string content) { return publish_(std::move(kind), std::move(content)); }

awaitable<> cell::finish()
{
    for (const std::size_t stream : {0, 1}) co_await print(stream, texts_[stream].finish());
}

awaitable<> cell_io::progress(double, std::optional<double>, std::string) { co_return; }

awaitable<> cell_io::output(double, std::vector<output_text>) { co_return; }

awaitable<> cell_io::log(log_severity level, std::string, json::value data)
{
    if (level < log_severity::warning || !data.is_string()) co_return;
    auto content = stream_content("stderr", std::string(data.get_string()) + "\n");
    co_await cell_.show("stream", std::move(content));
}

awaitable<> cell_io::notify(std::string, json::object) { co_return; }

awaitable<json::object> cell_io::ask(std::string, std::string, json::object)
{
    throw rpc_error(rpc_code::missing_client_capability, "A client of Jupyter's protocol is asked nothing.");
    co_return json::object();
}

}  // namespace cmcp::jupyter
