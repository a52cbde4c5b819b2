#pragma once

#include "kernels/kernel_execution.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// Gives the output of the process to the call whose code runs, and what comes outside of calls to late_output.
class kernel_process::receiver final : public sandbox::output_receiver {
public:
    explicit receiver(kernel_process& of) : of_(of) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        auto& printed = of_.printed_[from == sandbox::stream::out ? 0 : 1];
        printed += bytes.size();
        if (printed > of_.most_output_) of_.stop(sandbox::cause::output_limit, {});
        const auto one = of_.current_;
        if (!one) {
            co_await of_.late_.receive(from, std::string(bytes));
            co_return;
        }
        auto& stream = one->streams[from == sandbox::stream::out ? 0 : 1];
        std::string text = stream.put(bytes);
        co_await pass_on(one, from, std::move(text));
        while (stream.paused()) {
            of_.changed_.notify();
            co_await wait_for_event(stream);
            text = stream.put({});
            co_await pass_on(one, from, std::move(text));
        }
        text = stream.behind();
        stream.delivered();
        of_.changed_.notify();
        co_await of_.late_.receive(from, std::move(text));
    }

private:
    awaitable<> pass_on(std::shared_ptr<execution> one, sandbox::stream from, std::string text)
    {
        if (text.empty()) co_return;
        if (one->output != nullptr)
            co_await one->output->receive(from, text);
        else
            co_await of_.late_.receive(from, std::move(text));
    }

    // An event that cannot come any more is not waited for.
    awaitable<> wait_for_event(marked_stream& stream)
    {
        while (stream.paused() && of_.link_.is_open()) co_await of_.changed_.wait();
        stream.go_on();
    }

    kernel_process& of_;
};

}  // namespace cmcp
