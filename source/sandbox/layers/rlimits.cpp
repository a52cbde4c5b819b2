#include "sandbox/layers/layer_check.hpp"

#include "sandbox/probe_facts.hpp"

namespace cmcp::sandbox {
namespace {

void look(json::object& facts) { facts["limits"] = limit_facts(); }

layer judge(const found_facts& found)
{
    const json::object& limits = part(found.inside, "limits");
    std::string open;
    int count = 0;
    const auto note = [&](std::string_view name) {
        open += (open.empty() ? "" : ", ") + std::string(name);
        ++count;
    };
    for (std::string_view name : {"cpu", "fsize", "nofile", "nproc"})
        if (number(limits, name).value_or(-1) < 0) note(name);
    if (number(limits, "msgqueue") != 0) note("msgqueue");
    constexpr int all = 5;
    if (count == all) return off("no limit is in force");
    if (count != 0) return degraded("not limited: " + open);
    return on("processor time, file size, open files, processes, message queues");
}

}  // namespace

const layer_check rlimits_check{"rlimits", look, judge};

}  // namespace cmcp::sandbox
