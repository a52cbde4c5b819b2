#include "kernels/kernel_program.hpp"

#include "jail/system_files.hpp"
#include "runs/python_run.hpp"

#include <string_view>
#include <utility>

namespace cmcp {

// The program of a kernel: takes code over the socket that is its descriptor 3 and runs it in one namespace
// that stays. Messages are a length of four bytes, big end first, and JSON:
//   {"op": "run", "id", "code", "mark"} → {"id", "ok", "exit", "result"?, "result_is_repr"?, "displays"?,
//   "left_running"?, "cpu_us", "peak_bytes"}, after `mark` was printed on both streams; the first answer has "earlier"
//   where there was a kernel before: {"kept", "variables"?, "left_out"?, "reason"?}; before it any number of questions,
//   each {"id", "ask", "number"} →
//   {"op": "reply", "number", "answer"}: {"install": [package]} → {"installed", "output", "problem"?};
//   {"input": prompt, "password"} → {"value"} or {"problem"}, of a cell with allow_stdin
//   {"op": "give" or "take", "id", "program", "mark", …} → {"id", "ok", "exit", "state" or "reason"}: see
//   kernel_transfer.cpp. State goes as pieces: a length whose highest bit is set, then so many bytes; a piece of
//   none is the end.
//   {"op": "keep", "id", "program", "mark", "most"} → {"id", "ok", "exit", "state": {"variables", "bytes"} or
//   "reason"}: the variables are in a file of the workspace, at most so many bytes
//   {"op": "run", …, "notebook": {"silent"?, "store_history"?, "user_expressions"?, "allow_stdin"?, "path"?,
//   "environment"?, "makes_path"?, "variables"? (of this cell), "data_forms"?, "typescript"?}} → the same with "state":
//   {"execution_count", "user_expressions", "payload"?, "error"?} in place of a result; before it any number of {"id",
//   "event", "content"}: messages of Jupyter's iopub channel, each after `mark` with marked_stream::pause_byte as its
//   last byte was printed on both streams (kernel_notebook.py); one without a name only keeps the order of the streams,
//   and "earlier" has what the first answer has under that name
//   {"op": "look", "id", "mark", "question", "content"} → {"id", "ok", "exit", "state" or "reason"}: complete_request
//   and the like, answered by the content of the reply
//   {"op": "interrupt"}: KeyboardInterrupt in the code that runs
//   {"op": "programs", "programs": {name: text}}, before the others: compiled when code first wants them
// Ends when the socket is closed. Its arguments are the workspace's path inside, which is made importable, the
// folder for what it keeps, and "forget".
extern const std::string_view kernel_node;  // of JavaScript, whole
extern const std::string_view kernel_display;
extern const std::string_view kernel_code;
extern const std::string_view kernel_driver;

extern const std::string_view kernel_magics;                                     // magics and commands of notebooks
extern const std::string_view kernel_notebook;                                   // of clients of Jupyter's protocol
extern const std::string_view kernel_asking, kernel_history, kernel_inspection;  // stand behind it
extern const std::string_view kernel_shell;  // lines that are no Python; stands behind kernel_magics
extern const std::string_view kernel_state_common, kernel_state_take, kernel_state_recall;  // of an earlier kernel
extern const std::string_view kernel_interrupts;  // the processes of code that is interrupted
extern const std::string_view kernel_orders;      // all but to run code
extern const std::string_view kernel_loop;        // asynchronous code
extern const std::string_view kernel_workers;     // of multiprocessing
extern const std::string_view kernel_figures;     // modules that show figures; stands behind python_figures
extern const std::string_view kernel_forms;       // of values that few kernels show
extern const std::string_view kernel_data;        // charts and tables as data
extern const std::string_view kernel_stand_in;    // what code imports from IPython, where that is not installed

std::vector<std::string> kernel_arguments(std::string interpreter, std::string workspace_inside,
                                          std::string stored_folder, bool forgets)
{
    std::string program;
    for (const auto part : {sandbox::python_common, kernel_display, kernel_code, kernel_driver}) program.append(part);
    std::vector<std::string> arguments{std::move(workspace_inside), std::move(stored_folder)};
    if (forgets) arguments.emplace_back("forget");
    return python_arguments(python_home::sandbox, std::move(interpreter), std::move(program), std::move(arguments));
}

// The parser of the program's own Node.js is an internal part of it.
std::vector<std::string> node_kernel_arguments(std::string workspace_inside)
{
    return {"/usr/bin/env",
            "node",
            "--expose-internals",
            "--no-warnings",
            "-e",
            std::string(kernel_node),
            std::move(workspace_inside)};
}

// A start has to stay within a packet (wire/packet_socket.hpp), so these are not among the arguments.
json::object later_kernel_programs()
{
    json::object later;
    later["kernel_magics"] = std::string(kernel_magics) + std::string(kernel_shell);
    later["kernel_notebook"] =
        std::string(kernel_notebook).append(kernel_asking).append(kernel_history).append(kernel_inspection);
    later["kernel_interrupts"] = kernel_interrupts;
    later["kernel_loop"] = kernel_loop;
    later["kernel_orders"] = kernel_orders;
    later["kernel_workers"] = kernel_workers;
    later["kernel_figures"] = std::string(sandbox::python_figures) + std::string(kernel_figures);
    later["kernel_forms"] = kernel_forms;
    later["kernel_data"] = kernel_data;
    later["kernel_stand_in"] = kernel_stand_in;
    std::string recall(kernel_state_common);
    later["kernel_recall"] = recall.append(kernel_state_take).append(kernel_state_recall);
    return json::object{{"op", "programs"}, {"programs", std::move(later)}};
}

}  // namespace cmcp
