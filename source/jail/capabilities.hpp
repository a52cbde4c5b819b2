#pragma once

namespace cmcp::sandbox {

/// Gives up every capability for good: ambient, bounding (where the caller may), inheritable, permitted, effective, and
/// locks the securebits so that uid 0 brings none back. Async-signal-safe. False: see errno; some capability is left.
bool drop_all_capabilities();

}  // namespace cmcp::sandbox
