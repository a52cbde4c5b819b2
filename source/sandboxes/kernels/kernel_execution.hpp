#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"
#include "kernels/kernel_process.hpp"
#include "kernels/marked_stream.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace cmcp {

/// A message of the kernel's program. The content of an event is apart, as text, because nobody here looks into it.
struct kernel_process::heard_message {
    bool whole = false;     ///< false: the connection has ended
    std::size_t bytes = 0;  ///< that it came in
    json::object head;
    std::string content;  ///< of an event
    std::string plain;    ///< its form text/plain
};

/// A message that the kernel answers, and what comes meanwhile.
struct kernel_process::execution {
    explicit execution(const asio::any_io_executor& executor) : questions(executor) {}

    std::uint64_t id = 0;
    sandbox::output_receiver* output = nullptr;
    kernel_listener* listener = nullptr;  // the same, where it takes events
    std::array<marked_stream, 2> streams;
    std::optional<json::object> answer;
    std::size_t answer_bytes = 0;
    kernel_questions answers;
    std::optional<event::clock::time_point> question_since;  // an installation that goes on
    unsigned question_count = 0;                             // installations so far
    event::clock::duration asking{0};                        // time of those that are
    task_group questions;

    void end_of_question()
    {
        if (question_since) asking += event::clock::now() - *question_since;
        question_since.reset();
    }
};

}  // namespace cmcp
