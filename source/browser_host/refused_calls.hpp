#pragma once

namespace cmcp::browser_host {

/// Takes from this process and all that it starts, for good, the calls that a browser never makes and that reach far
/// into the kernel: they fail with EPERM. The calls of the browser's own sandbox (namespaces, chroot, filters) stay.
/// Throws std::system_error.
void refuse_calls();

}  // namespace cmcp::browser_host
