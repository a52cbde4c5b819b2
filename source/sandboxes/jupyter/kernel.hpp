#pragma once

#include "async/task_group.hpp"
#include "jupyter/cell.hpp"
#include "jupyter/client.hpp"
#include "jupyter/message.hpp"
#include "kernels/kernel_manager.hpp"
#include "mcp/caller.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::jupyter {

/// The kernel that a client works with: what it is called, and where it runs.
struct kernel_key {
    std::string id;            ///< UUID
    std::string spec;          ///< name of its kernelspec
    caller who;                ///< owner
    std::string sandbox;       ///< id
    std::string name;          ///< among the kernels of the sandbox; empty: the sandbox's own
    std::string path;          ///< of its notebook or folder, relative to the working folder; empty: that itself
    json::object environment;  ///< variables that its process has besides the sandbox's
    kernel_language language = kernel_language::python;
};

/// A kernel of a sandbox behind the channels of Jupyter's messaging protocol. Requests of all clients take turns; what
/// a cell shows goes to all of them. Its process starts with the first request, and anew after an end. Io thread only.
class kernel : public std::enable_shared_from_this<kernel> {
public:
    /// All but `at` must outlive this and the children of `tasks`.
    kernel(kernel_key at, kernel_manager& kernels, sandbox_manager& sandboxes, blocking_pool& pool, task_group& tasks)
        : at_(std::move(at)), kernels_(kernels), sandboxes_(sandboxes), pool_(pool), tasks_(tasks)
    {
    }

    const kernel_key& at() const { return at_; }
    json::object model() const;

    /// Until the connection ends; the kernel goes on.
    awaitable<> serve(std::shared_ptr<client> one);

    std::size_t connections() const { return clients_.size(); }
    bool idle() const { return queue_.empty() && !working_ && clients_.empty(); }
    event::clock::time_point used() const { return used_; }

    void interrupt() { kernels_.interrupt(at_.sandbox, at_.name); }

    /// Ends the process, which forgets its variables; requests that wait are not served, and all clients are told.
    awaitable<> restart();
    awaitable<> end();  ///< and the connections

private:
    struct restart_mark;
    struct question;
    struct request {
        message heard;
        std::weak_ptr<client> from;
        bool aborted = false;
    };
    struct recorded_cell {  // for the audit
        json::object arguments;
        std::string digest;  // in place of those of a long cell
    };
    struct sized_content {
        json::object value;
        std::size_t bytes = 0;  // about, of its text
    };

    void take(message heard, const std::shared_ptr<client>& from);
    void take_order(message heard, const std::shared_ptr<client>& from);
    void abort_waiting();
    awaitable<> work();
    awaitable<> answer(request one);
    awaitable<sized_content> reply_to(request& one);
    awaitable<sized_content> execute(request& one);
    awaitable<recorded_cell> arguments_of(const request& one);
    void record(const json::object& reply, const recorded_cell& cell, std::chrono::duration<double> took) const;
    awaitable<json::object> settle(json::object header, bool stops_on_error, kernel_answer answer);
    awaitable<sized_content> look(request& one);
    awaitable<kernel_answer> converse(json::object order, std::size_t bytes, json::object header,
                                      std::weak_ptr<client> from);
    static awaitable<json::object> ask(std::shared_ptr<kernel> self, json::object header, std::weak_ptr<client> from,
                                       json::object what);
    void take_answer(const message& heard, const std::shared_ptr<client>& from);
    bool is_connected(const std::shared_ptr<client>& one) const;
    awaitable<> refuse_comm(message heard);
    awaitable<> forget();  // what the process knows, which ends
    awaitable<> publish(std::string type, json::object content, json::object parent);
    awaitable<> publish_text(std::string type, std::string content, json::object parent);
    static awaitable<> publish_late(std::weak_ptr<kernel> to, std::string type, std::string content,
                                    json::object parent);
    awaitable<> publish_state(std::string state, json::object parent);
    void reply(const request& to, std::string content);
    message new_message(std::string channel, std::string type, json::object content, json::object parent) const;

    kernel_key at_;
    kernel_manager& kernels_;
    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    task_group& tasks_;
    std::string session_ = new_uuid();
    std::vector<std::shared_ptr<client>> clients_;
    std::deque<request> queue_;
    std::size_t waiting_bytes_ = 0;
    bool working_ = false;
    unsigned life_ = 0;        // counts restarts
    unsigned restarting_ = 0;  // restarts that go on
    event restarted_;
    question* question_ = nullptr;  // that a cell has asked a client
    event answered_;
    std::int64_t count_ = 0;
    std::string state_ = "idle";
    json::object parent_of_state_;
    std::chrono::system_clock::time_point active_ = std::chrono::system_clock::now();
    event::clock::time_point used_ = event::clock::now();
};

}  // namespace cmcp::jupyter
