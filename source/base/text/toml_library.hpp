#pragma once

// Debian 12 has the one name, later releases have the other.
#if __has_include(<toml++/toml.hpp>)
#include <toml++/toml.hpp>
#else
#include <toml++/toml.h>
#endif
