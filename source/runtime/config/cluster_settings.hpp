#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: several servers, and sandboxes in object storage (config/lists/cluster.hpp).
struct cluster_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/cluster.hpp"
#undef SETTING
#undef TOPIC

    milliseconds cluster_confirm{250};  ///< the last answer of etcd may be so old when a call begins
};

}  // namespace cmcp
