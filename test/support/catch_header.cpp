// What the precompiled headers of the tests are made with.
#include "test/support/catch.hpp"
