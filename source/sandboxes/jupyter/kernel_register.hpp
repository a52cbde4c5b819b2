#pragma once

#include "jupyter/folders.hpp"
#include "jupyter/kernel.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp::jupyter {

/// A notebook or console that uses a kernel, by its path.
struct session {
    std::string id;  ///< UUID
    std::string path;
    std::string name;
    std::string type;
    std::shared_ptr<kernel> uses;

    json::object model() const;
};

/// A kernelspec: a kernel of its own, or the sandbox's own kernel, which tools use as well.
inline constexpr std::string_view own_spec = "python3", node_spec = "javascript", shared_spec = "sandbox";

/// A wish for a kernel.
struct new_kernel {
    std::string spec;  ///< empty: own_spec
    /// Of a file that the kernel belongs to, or a folder; empty: a sandbox of its own, which goes with the kernel
    /// unless files were put there.
    std::string path;
    json::object environment;  ///< see kernel_environment()
};

/// The variables of the environment that a client wishes for its kernel: "env" of `wish`. Throws http_refusal where
/// they are too many, too long or have wrong names.
json::object kernel_environment(const json::object& wish);

/// The kernels and sessions that clients of the API have begun, by their owner. They last as long as the server. Throws
/// sandbox_error and http_refusal. Io thread only.
class kernel_register {
public:
    kernel_register(asio::any_io_executor executor, kernel_manager& kernels, folders& places, blocking_pool& pool)
        : kernels_(kernels), folders_(places), pool_(pool), tasks_(executor)
    {
    }

    awaitable<std::shared_ptr<kernel>> start(caller who, new_kernel wanted);
    std::shared_ptr<kernel> find(const caller& who, const std::string& id) const;
    std::vector<std::shared_ptr<kernel>> list(const caller& who) const;
    awaitable<> end(caller who, std::string id);  ///< with its sessions

    session& begin_session(session begun);
    session& find_session(const caller& who, const std::string& id);
    session* session_at(const caller& who, const std::string& path);
    std::vector<session> sessions(const caller& who) const;

    awaitable<> stop();

private:
    static caller owner_of_sandbox(const caller& who, const std::string& kernel);
    awaitable<> make_room(caller who);
    awaitable<kernel_key> choose(caller who, new_kernel wanted);
    std::string free_name(const std::string& sandbox) const;
    std::shared_ptr<kernel> shared_one(const std::string& sandbox) const;

    kernel_manager& kernels_;
    folders& folders_;
    blocking_pool& pool_;
    std::map<std::string, std::shared_ptr<kernel>> all_;
    std::map<std::string, session> sessions_;
    task_group tasks_;
};

}  // namespace cmcp::jupyter
