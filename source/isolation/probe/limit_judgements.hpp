#pragma once

#include "probe/judgement.hpp"

namespace cmcp::sandbox {

/// The layers that bound what a run takes.
layer judge_rlimits(const both_sides& facts);
layer judge_memory(const both_sides& facts);
layer judge_pids(const both_sides& facts);
layer judge_cpu(const both_sides& facts);
layer judge_watchdog(const both_sides& facts);
layer judge_workspace_quota(const both_sides& facts);

}  // namespace cmcp::sandbox
