#include "web/web_page_reader.hpp"

#include "async/sized_work.hpp"
#include "config/execution_settings.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/write_json.hpp"
#include "runs/python_run.hpp"
#include "runs/reader_limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cmcp {

extern const std::string_view web_page_reading, web_page_renderer, web_page_beginning;  // web_page_*.py
namespace {

constexpr std::size_t most_complaints = 4096;
constexpr auto least_time = std::chrono::seconds(1);
constexpr const char* pdftotext = "/usr/bin/pdftotext";

// Reads a line of JSON (options_line) and the page in UTF-8, writes one JSON object: the answer of
// web_page_reader::read, or {missing: names of packages}.
const std::string& web_page_script()
{
    static const std::string whole =
        std::string(web_page_reading) + std::string(web_page_renderer) + std::string(web_page_beginning);
    return whole;
}

json::object failure(std::string sentence) { return {{"error", std::move(sentence)}}; }

std::string ending(const sandbox::run_result& end)
{
    using sandbox::cause;
    switch (end.why) {
        case cause::exited:
            return {};
        case cause::timeout:
        case cause::cpu_limit:
            return "Timed out (WEB_TIMEOUT_DEFAULT) while parsing the page; it is too large or too deep.";
        case cause::memory_limit:
            return "The page needs more memory than its reader may have; it is too large or too deep.";
        case cause::output_limit:
            return "The page gives more text than can be taken; choose a part of it with selector.";
        case cause::setup_failed:
            return "The sandbox in which pages are read could not be started: " + end.error;
        case cause::lost:
            return end.error;
        default:
            return "The page could not be read: its reader ended unexpectedly.";
    }
}

std::string options_line(const page_wish& wish)
{
    json::object options{
        {"kind", wish.kind}, {"base", wish.base}, {"format", wish.format}, {"max_length", wish.max_length}};
    options["selector"] = nullptr;
    if (wish.selector) options["selector"] = *wish.selector;
    return jsonrpc::write_json(options) + "\n";
}

json::object read_answer(const std::string& text)
{
    constexpr std::size_t most_values = 20'000;  // 2,000 links of the script's have three times as many
    auto read = jsonrpc::read_bounded(text, {.depth = 16, .values = most_values});
    if (!read || !read->is_object()) return failure("The page could not be read: its reader gave no answer.");
    json::object answer = std::move(read->as_object());
    if (answer.contains("missing"))
        return failure(
            "Pages cannot be read on this machine: install the Debian packages python3-bs4 and python3-lxml "
            "(apt-get install python3-bs4 python3-lxml).");
    return answer;
}

}  // namespace

web_page_reader::web_page_reader(const execution_settings& config, sandbox::backend& backend, run_admission& admission,
                                 blocking_pool& pool)
    : interpreter_(config.python_interpreter), backend_(backend), admission_(admission), pool_(pool)
{
}

awaitable<sandbox::run_result> web_page_reader::run(std::string caller, sandbox::run_request request,
                                                    std::chrono::milliseconds limit, sandbox::output_head& output)
{
    sandbox::run_result end;
    auto slot = co_await admission_.enter(std::move(caller));
    if (!slot) end.error = busy_sentence;
    if (!slot) co_return end;
    request.programs.all = false;  // the interpreter or pdftotext, and what they load
    request.limits = reader_limits();
    request.limits.wall =
        std::max<std::chrono::milliseconds>(least_time, limit);  // without the time of waiting for a turn
    request.label = "web page";
    end = co_await backend_.run(std::move(request), output);
    end.error = ending(end);
    co_return end;
}

awaitable<json::object> web_page_reader::read(std::string caller, std::string page, page_wish wish,
                                              std::chrono::milliseconds limit)
{
    sandbox::run_request request;
    start_python(request, python_home::none, interpreter_);
    request.script = web_page_script();
    request.input = options_line(wish) + page;
    sandbox::output_head output(reader_limits().output, most_complaints);
    auto end = co_await run(caller, std::move(request), limit, output);
    if (!end.error.empty()) co_return failure(std::move(end.error));
    if (output.out.empty() && output.err.find("MemoryError") != std::string::npos)
        co_return failure("The page needs more memory than its reader may have; it is too large or too deep.");
    const auto size = output.out.size();
    auto work = [text = std::move(output.out)] { return read_answer(text); };
    auto answer = co_await by_size(pool_, std::move(caller), size, std::move(work));
    co_return answer;
}

awaitable<json::object> web_page_reader::read_pdf(std::string caller, std::string document,
                                                  std::chrono::milliseconds limit)
{
    if (::access(pdftotext, X_OK) != 0)
        co_return failure(
            "PDF cannot be read on this machine: install the Debian package poppler-utils (apt-get install "
            "poppler-utils).");
    sandbox::run_request request;
    request.argv = {pdftotext, "-enc", "UTF-8", "-nopgbrk", "-q", "-", "-"};
    request.input = std::move(document);
    sandbox::output_head output(reader_limits().output, most_complaints);
    auto end = co_await run(std::move(caller), std::move(request), limit, output);
    if (!end.error.empty()) co_return failure(std::move(end.error));
    if (end.exit_code != 0) co_return failure("The PDF cannot be read: it is damaged or protected by a password.");
    json::object answer{{"content", std::move(output.out)}};
    co_return answer;
}

}  // namespace cmcp
