#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

namespace cmcp {

/// How posix_spawn(3) starts a program: with the usual actions of all signals, none of them blocked, and the
/// descriptors that it is given.
class spawn_setup {
public:
    spawn_setup()
    {
        ::posix_spawnattr_init(&attributes_);
        sigset_t all, none;
        ::sigfillset(&all);
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        ::posix_spawn_file_actions_init(&actions_);
    }
    spawn_setup(const spawn_setup&) = delete;
    spawn_setup& operator=(const spawn_setup&) = delete;
    ~spawn_setup()
    {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    /// `descriptor` becomes `number` there. The two must differ: the same number would stay close-on-exec.
    void give(int descriptor, int number) { ::posix_spawn_file_actions_adddup2(&actions_, descriptor, number); }

    /// `number` is /dev/null there, opened with `flags`.
    void give_nothing(int number, int flags)
    {
        ::posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", flags, 0);
    }

    const posix_spawnattr_t* attributes() const { return &attributes_; }
    const posix_spawn_file_actions_t* actions() const { return &actions_; }

private:
    posix_spawnattr_t attributes_;
    posix_spawn_file_actions_t actions_;
};

}  // namespace cmcp
