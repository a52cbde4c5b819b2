#pragma once

#include "kernels/kernel_process.hpp"
#include "mcp/request_io.hpp"
#include "text/utf8_text.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace cmcp::jupyter {

/// Output and displays of a cell as messages of the iopub channel, and its questions as those of the stdin channel.
class cell final : public kernel_listener {
public:
    /// `content`: the text of a JSON object.
    using publisher = std::function<awaitable<>(std::string type, std::string content)>;
    using asker = std::function<awaitable<json::object>(json::object question)>;

    /// `later` takes what is printed and shown after the end.
    explicit cell(publisher publish, asker ask = {}, std::shared_ptr<cell> later = {})
        : publish_(std::move(publish)), ask_(std::move(ask)), later_(std::move(later))
    {
    }

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override;
    awaitable<> show(std::string kind, std::string content) override;
    awaitable<json::object> ask(json::object question) override { return ask_(std::move(question)); }
    std::shared_ptr<kernel_listener> after_the_end() override { return later_; }
    awaitable<> finish();  ///< characters that were cut off

private:
    awaitable<> print(std::size_t stream, std::string text);

    publisher publish_;
    asker ask_;
    std::shared_ptr<cell> later_;
    std::array<utf8_cleaner, 2> texts_;
};

/// A caller that sees nothing but warnings, on the cell's standard error.
class cell_io final : public request_io {
public:
    explicit cell_io(cell& of) : cell_(of) {}

    bool wants_progress() const override { return false; }
    awaitable<> progress(double, std::optional<double>, std::string) override;
    awaitable<> output(double, std::vector<output_text>) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    awaitable<> notify(std::string, json::object) override;
    awaitable<json::object> ask(std::string, std::string, json::object) override;
    void close_stream_for_polling() override {}

private:
    cell& cell_;
};

}  // namespace cmcp::jupyter
