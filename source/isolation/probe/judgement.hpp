#pragma once

#include "jsonrpc/read_object.hpp"
#include "probe/layer.hpp"
#include "probe/probe_facts.hpp"

#include <string>
#include <utility>

/// Judgements of layers: the caller gives them their names.
namespace cmcp::sandbox {

/// The facts of a probe run and those of its launcher.
struct both_sides {
    const json::object& inside;
    const json::object& launcher;
};

inline layer on(std::string detail) { return {{}, layer::state::on, std::move(detail)}; }
inline layer off(std::string detail) { return {{}, layer::state::off, std::move(detail)}; }
inline layer degraded(std::string detail) { return {{}, layer::state::degraded, std::move(detail)}; }
inline layer not_asked(std::string detail) { return {{}, layer::state::not_asked, std::move(detail)}; }

inline layer on_if(bool is, std::string detail, std::string why_not)
{
    return is ? on(std::move(detail)) : off(std::move(why_not));
}

}  // namespace cmcp::sandbox
