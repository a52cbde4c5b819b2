#pragma once

#include "async/asio.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace cmcp {

/// what() is a sentence that names the node and says why it does not answer; `type` is for programs.
struct node_unreachable : std::runtime_error {
    enum class cause {
        silent,      ///< it cannot be asked
        unanswered,  ///< it was asked and has not answered, so what it was asked for may have been done
        elsewhere,   ///< it answers that it does not have the sandbox
        coming,      ///< it is this node, to which the sandbox is still to be brought
    };
    explicit node_unreachable(const std::string& sentence, cause reason = cause::silent,
                              std::string kind = "NodeUnreachable")
        : std::runtime_error(sentence), why(reason), type(std::move(kind))
    {
    }
    cause why;
    std::string type;
    std::string new_node{};  ///< where it has gone, as far as a node that says `elsewhere` knows
};

/// Of a node that answers that the sandbox has gone to the node `new_node`.
inline node_unreachable has_moved(const std::string& sentence, std::string new_node)
{
    node_unreachable moved(sentence, node_unreachable::cause::elsewhere);
    moved.new_node = std::move(new_node);
    return moved;
}

/// Thrown where a request turns out to be this node's own: the sandbox has come here, or is nowhere.
struct found_here {};

/// A request about something that another node may have. Every call throws node_unreachable.
class movable_request {
public:
    virtual ~movable_request() = default;

    /// Brings it to the node and the answer to the client. Throws where nothing of the request is lost.
    virtual awaitable<> try_at(std::string node) = 0;

    /// The node that has its sandbox from now on, where `node` does not: the same, which may answer now, or another
    /// one; empty: this one. Nothing: none has. `tried`: when that node was asked.
    using moment = std::chrono::steady_clock::time_point;
    virtual awaitable<std::optional<std::string>> find_again(std::string node, moment tried) = 0;

    /// Whether it may be done twice. Otherwise nobody is asked any more after a node that has not answered.
    virtual bool may_repeat() const = 0;
};

/// Tries the request at the node, and where its sandbox is from then on, until there is an answer: for as long as it
/// takes to agree that a node is gone, once more where a node without the sandbox says that it has gone, and once more
/// after that. What may have been done is tried again where it may_repeat(), and is `unanswered` only where not. Throws
/// found_here, and node_unreachable of the last try.
awaitable<> try_nodes(movable_request& request, std::string node);

}  // namespace cmcp
