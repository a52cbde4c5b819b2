#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"
#include "probe/layer.hpp"
#include "sandbox/output_receiver.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/run_request.hpp"
#include "wire/run_result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// A socket of a lasting cell's network, or why there is none.
struct opened_socket {
    unique_fd socket;
    std::string error;  ///< a sentence
};

/// Runs programs in isolation. Nothing ever runs unconfined: a run that cannot be confined ends as setup_failed.
class backend {
public:
    virtual ~backend() = default;

    /// Runs to the end and reports how it ended. All output has been received when it returns. Terminal cancellation of
    /// the coroutine kills the whole process tree and then throws operation_aborted.
    virtual awaitable<run_result> run(run_request request, output_receiver& output) = 0;

    /// The layers, probed once by a run of its own and remembered.
    virtual awaitable<layers> probe() = 0;

    virtual std::string_view name() const = 0;

    /// Whether run_request::cell can name a lasting cell; false before probe().
    virtual bool keeps_cells() const { return false; }

    /// The lasting cells that live.
    virtual awaitable<std::vector<cell_state>> cells() { co_return std::vector<cell_state>(); }

    /// With every run in it; returns once nothing of it is left.
    virtual awaitable<> end_cell(cell_name) { co_return; }

    /// From now on all processes of lasting cells stand still, or go on.
    virtual void hold_cells(bool) {}

    /// An unconnected socket of the network of a lasting cell, which reaches the cell's own loopback and nothing else.
    /// It does not block. A cell that does not answer in a few seconds is an error.
    virtual awaitable<opened_socket> open_socket(cell_name, cell_socket)
    {
        co_return opened_socket{{}, "The sandbox has no network that could be reached."};
    }

    /// Whether run_request::doors may name ports; false before probe().
    virtual bool can_have_doors() const { return false; }

    /// Asked to end a lasting cell of this principal, or where as many live as may at all one of another, when a run in
    /// `name` finds no room for its cell. False: none can give way.
    using room_maker = std::function<awaitable<bool>(cell_name name)>;

    /// The maker of all runs to come, called on the io thread; an empty one ends that.
    virtual void on_full(room_maker) {}

    /// Gets the doors of a lasting cell, in the order of encode_doors(), before the output of its first run; those of
    /// an earlier cell of the name have gone then. No sockets: the cell has ended, also where the launcher ended with
    /// it.
    using doors_handler = std::function<void(cell_name, std::vector<unique_fd>)>;

    /// The handler of all cells to come. It is called on the io thread, neither throws nor calls the backend, and is
    /// not called any more when the backend ends. With it and a cell that has doors, the backend is work for the
    /// io_context; an empty handler ends that.
    virtual void on_doors(doors_handler) {}
};

}  // namespace cmcp::sandbox
