#include "engine/container_user.hpp"

namespace cmcp::engine {
namespace {

constexpr uid_t nobody_elses = 199'999;  // just below the ids that runs of the native backend have

std::string pair_of(uid_t uid, gid_t gid) { return std::to_string(uid) + ":" + std::to_string(gid); }

}  // namespace

container_user choose_user(const engine_facts& engine, uid_t uid, gid_t gid)
{
    if (engine.rootless && uid != 0)
        return engine.podman ? container_user{pair_of(uid, gid), "keep-id", {}} : container_user{"0:0", {}, {}};
    if (uid != 0) return {pair_of(uid, gid), {}, {}};
    return {pair_of(nobody_elses, nobody_elses), {}, nobody_elses};
}

}  // namespace cmcp::engine
