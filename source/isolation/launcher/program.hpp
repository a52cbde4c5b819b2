#pragma once

#include "cell/held_program.hpp"
#include "posix/unique_fd.hpp"
#include "wire/launcher_protocol.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

class cell;

/// A start that cannot begin yet.
struct waiting_start {
    start_message start;
    std::vector<unique_fd> descriptors;
};

/// A program of a cell, seen from the launcher: it stands by, gets its start, and is a run from then on.
class program {
public:
    /// `kind`: of a held shell; nothing: it becomes any program. `early`: it was made before its start came.
    program(std::uint32_t number, unique_fd link, std::optional<held_kind> kind, bool early)
        : number_(number), link_(std::move(link)), kind_(std::move(kind)), early_(early)
    {
    }

    std::uint32_t number() const { return number_; }  ///< in the cell
    int process() const { return process_; }          ///< its number there; 0: not known yet
    void set_process(int process) { process_ = process; }
    bool is_held() const { return kind_.has_value(); }
    const std::optional<held_kind>& kind() const { return kind_; }

    void hear();  ///< takes its messages; those of a program that has begun are what keeps it from running
    bool waits() const { return waits_; }  ///< as far as it has been heard

    /// Whether it is a shell that runs although no start has come: the loader did not find what holds it. One that
    /// waits makes no call that is refused, and this one has nobody who answers.
    bool runs_too_early() const;

    /// Whether the start can be its own. A shell that does not wait yet might never, and not every start fits into its
    /// message.
    bool suits(const start_message& start, bool loaded);

    /// Hands a start that suits over, in the cell that it is in; hear() was called before. False: the program has gone.
    /// Throws step_failed.
    bool begin(const cell& in, const waiting_start& start, bool loaded);

    /// The socket as long as a listener may come over it after the begin; -1: nothing more is awaited.
    int awaited() const { return has_listener_ || heard_ == most_messages ? -1 : link_.get(); }

    unique_fd take_listener() { return std::move(listener_); }  ///< of refused calls; none: taken, or not there yet

    bool stood_by() const { return stood_by_; }              ///< was confined when its start came
    bool executes() const { return executes_; }              ///< a clone that could not become what it was to
    const std::string& failure() const { return failure_; }  ///< of a step before the program; empty: none

private:
    static constexpr int most_messages = 8;  // an inmate of a lasting cell may speak in a held shell's name

    void hear(class wire_reader message, std::vector<unique_fd>& descriptors);

    std::uint32_t number_;
    int process_ = 0;
    unique_fd link_;
    std::optional<held_kind> kind_;
    unique_fd listener_;
    bool has_listener_ = false;
    int heard_ = 0;
    bool waits_ = false;
    std::string held_start_;  ///< the start of a held shell, encoded
    bool early_;
    bool stood_by_ = false;
    bool executes_ = false;
    std::string failure_;
};

}  // namespace cmcp::sandbox
