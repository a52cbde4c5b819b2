#pragma once

namespace cmcp::sandbox {

/// Gives up every capability for good: ambient, bounding (where the caller may), inheritable, permitted, effective, and
/// locks the securebits so that uid 0 brings none back. Async-signal-safe. False: see errno; some capability is left.
bool drop_all_capabilities();

/// Keeps what root has in a container, within the caller's user namespace: files of all its ids, changes of id, ports,
/// traces of its own processes; where `nested` mounts and namespaces, too. The others are given up for good. False: see
/// errno.
bool keep_only_root_inside(bool nested);

/// Gives up every capability but those that looking into other processes takes, and where `kills` ending them. False:
/// see errno.
bool keep_only_sight(bool kills);

/// Gives up every capability of this thread but those with which root gives files to other users and acts with their
/// rights (files/owner_rights.hpp). They have no power over the machine itself. False: see errno.
bool keep_only_ownership();

/// Whether this thread has no other capability.
bool has_only_ownership();

}  // namespace cmcp::sandbox
