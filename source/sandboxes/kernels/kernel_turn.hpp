#pragma once

#include "kernels/kernel_manager.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// The kernel of a sandbox, or its place until it is started.
struct kernel_manager::kernel {
    bool lives() const { return process && process->alive(); }
    std::string stored_folder() const { return name.empty() ? ".kernel" : ".kernel-" + name; }  // of the workspace

    std::string id;    // of the sandbox
    std::string name;  // empty: the sandbox's own
    kernel_language language = kernel_language::python;
    std::string owner;
    event::clock::time_point used;
    double started = 0;     // seconds since 1970
    std::string why_ended;  // the process before, as a sentence without its stop; empty: not known here
    bool forgets = false;   // the next process takes nothing that was kept
    bool returns = false;   // it ends for now, and the place stays
    std::shared_ptr<kernel_process> process;
    std::deque<int> line;  // tickets of calls that wait or run; the first runs
    int next_ticket = 0;
    event changed;
};

/// A place in the line of calls that use a kernel.
struct kernel_manager::turn {
    explicit turn(std::shared_ptr<kernel> wanted) : of(std::move(wanted)), ticket(of->next_ticket++)
    {
        of->line.push_back(ticket);
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn()
    {
        std::erase(of->line, ticket);
        of->used = event::clock::now();
        of->changed.notify();
    }
    bool has_come() const { return of->line.front() == ticket; }
    std::size_t place() const  ///< among those that wait
    {
        return static_cast<std::size_t>(std::find(of->line.begin(), of->line.end(), ticket) - of->line.begin());
    }

    std::shared_ptr<kernel> of;
    int ticket;
};

}  // namespace cmcp
