// The precompiled header of the tests is compiled from this file.
#include "test/support/catch.hpp"
