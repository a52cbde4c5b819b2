#pragma once

#include "async/blocking_pool.hpp"
#include "runs/output_collector.hpp"
#include "runs/run_admission.hpp"
#include "runs/runner.hpp"
#include "sandbox/backend.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"

#include <boost/asio/steady_timer.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::test {

/// Remembers what was sent; `full` makes progress wait until open() is called.
class recording_io final : public request_io {
public:
    explicit recording_io(const asio::any_io_executor& executor, bool wanted = true)
        : gate_(executor, asio::steady_timer::time_point::max()), wanted_(wanted)
    {
    }
    bool wants_progress() const override { return wanted_; }
    awaitable<> progress(double value, std::optional<double>, std::string message) override
    {
        messages.push_back(std::move(message));
        values.push_back(value);
        if (full) co_await gate_.async_wait(as_tuple);
    }
    awaitable<> output(double value, std::vector<output_text> texts) override
    {
        std::string printed;
        for (auto& piece : texts) {
            printed += piece.text;
            pieces.push_back(std::move(piece));
        }
        messages.push_back(std::move(printed));
        values.push_back(value);
        if (full) co_await gate_.async_wait(as_tuple);
    }
    awaitable<> log(log_severity, std::string logger, json::value data) override
    {
        logs.push_back(logger + ": " + std::string(data.as_string()));
        co_return;
    }
    awaitable<> notify(std::string, json::object) override { co_return; }
    void queued(std::size_t position) override { positions.push_back(position); }
    awaitable<json::object> ask(std::string, std::string, json::object) override { co_return json::object(); }
    void close_stream_for_polling() override {}

    void open()
    {
        full = false;
        gate_.cancel();
    }
    std::string all() const
    {
        std::string text;
        for (const auto& message : messages) text += message;
        return text;
    }

    std::string all_logs() const
    {
        std::string text;
        for (const auto& each : logs) text += each + "\n";
        return text;
    }

    std::vector<std::string> messages;  // of each progress and output; empty: a heartbeat
    std::vector<double> values;
    std::vector<output_text> pieces;
    std::vector<std::string> logs;
    std::vector<std::size_t> positions;
    bool full = false;

private:
    asio::steady_timer gate_;
    bool wanted_;
};

/// A backend without processes: every run prints `prints` and ends with `result`, and `requests` keeps the requests.
class scripted_backend : public sandbox::backend {
public:
    awaitable<sandbox::run_result> run(sandbox::run_request request, sandbox::output_receiver& output) override
    {
        requests.push_back(std::move(request));
        for (const auto& [from, bytes] : prints) co_await output.receive(from, bytes);
        co_return result;
    }
    awaitable<sandbox::layers> probe() override { co_return sandbox::layers{}; }
    std::string_view name() const override { return "scripted"; }

    std::vector<sandbox::run_request> requests;
    std::vector<std::pair<sandbox::stream, std::string>> prints;
    sandbox::run_result result = ended(0);

    static sandbox::run_result ended(int code)
    {
        sandbox::run_result result;
        result.why = sandbox::cause::exited;
        result.exit_code = code;
        return result;
    }
};

/// A runner over a scripted backend.
struct run_stage {
    asio::io_context io;
    temporary_folder folder;
    blocking_pool pool{1};
    std::filesystem::path files = folder.path / "files";
    output_store outputs{pool};
    run_admission admission{admission_limits()};
    scripted_backend backend;
    recording_io progress{io.get_executor()};
    runner runs{backend, outputs, admission, admission, pool};

    run_stage() { std::filesystem::create_directory(files); }

    sandbox::run_request request_here() const
    {
        sandbox::run_request request;
        request.workspace = files.string();
        return request;
    }
    run_outcome run(run_options options = {})
    {
        auto request = request_here();
        return run_coroutine(io, runs.run(caller(), progress, std::move(request), std::move(options)));
    }
};

}  // namespace cmcp::test
