#include "sandbox/layers/layer_check.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace cmcp::sandbox {
namespace {

json::array processes_shown()
{
    json::array pids;
    const auto close = [](DIR* opened) { ::closedir(opened); };
    std::unique_ptr<DIR, decltype(close)> folder(::opendir("/proc"), close);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
        if (long pid = std::strtol(entry->d_name, nullptr, 10); pid > 0) pids.emplace_back(pid);
    return pids;
}

void look(json::object& facts)
{
    char self[32] = {};
    const bool there = ::readlink("/proc/self", self, sizeof self - 1) > 0;
    json::object proc{{"there", there}};
    proc["own"] = there && std::string(self) == std::to_string(::getpid());
    proc["processes"] = processes_shown();
    proc["system_settings"] = ::access("/proc/sys", R_OK) == 0 || ::access("/proc/sysrq-trigger", W_OK) == 0;
    facts["proc"] = std::move(proc);
}

bool shows_first_process(const json::object& proc)
{
    const json::value* shown = proc.if_contains("processes");
    if (shown == nullptr || !shown->is_array()) return true;
    const auto& pids = shown->get_array();
    return std::any_of(pids.begin(), pids.end(), [](const json::value& pid) { return pid == 1; });
}

layer judge(const found_facts& found)
{
    const json::object& proc = part(found.inside, "proc");
    if (proc.empty()) return off("nobody looked");
    if (!is_true(proc, "there")) return degraded("there is no /proc: this place refuses a fresh one");
    if (!is_true(proc, "own")) return off("/proc shows another PID namespace");
    if (is_true(proc, "system_settings")) return degraded("own processes only, but kernel settings are visible");
    if (shows_first_process(proc)) return degraded("the sandbox's first process is visible");
    return on("own processes only, no kernel settings");
}

}  // namespace

const layer_check private_proc_check{"private_proc", look, judge};

}  // namespace cmcp::sandbox
