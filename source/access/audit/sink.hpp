#pragma once

#include "jsonrpc/json.hpp"
#include "log/log.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::audit {

/// The events that a record tells of. The first group is of the callers, the second of the audit itself.
enum class kind : std::uint8_t {
    call,           ///< a call of a tool, and any other request that reads or changes what belongs to a caller
    running,        ///< a call that goes on: its end is a `call`, unless the server is killed before
    job,            ///< the end of work in the background
    login,          ///< credentials that were not seen within the last hour
    login_refused,  ///< credentials that are not taken
    egress,         ///< a decision about a connection to the outside
    admin,          ///< an act of administration

    start,    ///< of the server
    stop,     ///< of the server, in good order
    file,     ///< the beginning of a file
    head,     ///< a signature over everything before it
    torn,     ///< the line before it was cut off by the server's end
    dropped,  ///< so many records could not be written
    removed,  ///< a file was removed, because there were more than may stay, and it was the oldest
};
std::string_view name_of(kind is);

/// Where records go. The rest of the server knows this and nothing of files, chains and signatures.
class sink {
public:
    virtual ~sink() = default;

    /// Fields as those of the log: names of callers and things, never arguments, content or secrets. `arguments` are
    /// written as a digest alone; null: there are none. `digest`: theirs (jsonrpc::canonical_digest()), where it was
    /// made elsewhere; they are not looked at then. Io thread only; takes less than a microsecond and never blocks.
    virtual void add(kind is, log::fields with, const json::object* arguments, std::string_view digest = {}) = 0;

    /// A sentence while calls must not be taken, because what they do could not be recorded; empty: they may be.
    /// Counts a refusal.
    virtual std::string refusal() = 0;
};

/// Null: there is no audit. Io thread only.
sink* current();
void use(sink* of_process);

/// Instead of current()->add() where there may be no audit.
inline void add(kind is, log::fields with, const json::object* arguments = nullptr, std::string_view digest = {})
{
    if (auto* to = current(); to != nullptr) to->add(is, with, arguments, digest);
}

/// current()->refusal(), or empty.
inline std::string refusal() { return current() != nullptr ? current()->refusal() : std::string(); }

}  // namespace cmcp::audit
