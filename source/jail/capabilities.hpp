#pragma once

namespace cmcp::sandbox {

/// Gives up every capability for good: ambient, bounding (where the caller may), inheritable, permitted, effective, and
/// locks the securebits so that uid 0 brings none back. Async-signal-safe. False: see errno; some capability is left.
bool drop_all_capabilities();

/// Gives up every capability but those that looking into other processes takes, and where `kills` ending them. False:
/// see errno.
bool keep_only_sight(bool kills);

}  // namespace cmcp::sandbox
