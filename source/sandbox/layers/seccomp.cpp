#include "sandbox/layers/layer_check.hpp"

#include "sandbox/probe_facts.hpp"

#include <sys/prctl.h>

#include <vector>

namespace cmcp::sandbox {
namespace {

void look(json::object& facts)
{
    facts["seccomp_mode"] = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    facts["refused"] = refusal_facts();
}

std::string list(const std::vector<std::string>& names)
{
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

layer judge(const found_facts& found)
{
    constexpr int filter_mode = 2;
    if (number(found.inside, "seccomp_mode") != filter_mode) return off("no filter is in force");
    std::vector<std::string> open;
    const json::object& refused = part(found.inside, "refused");
    for (const auto& [name, answer] : refused)
        if (!is_true(refused, name)) open.emplace_back(name);
    if (refused.empty()) return degraded("a filter is in force; what it refuses was not tried");
    if (!open.empty()) return degraded("not refused: " + list(open));
    return on("an allow-list; " + std::to_string(refused.size()) + " forbidden calls were tried and refused");
}

}  // namespace

const layer_check seccomp_check{"seccomp", look, judge};

}  // namespace cmcp::sandbox
