#pragma once

namespace cmcp {

struct settings;

/// Settings need others: those of TLS, of the cluster, of the storage of snapshots. Throws config_error.
void check_together(const settings& config);

}  // namespace cmcp
