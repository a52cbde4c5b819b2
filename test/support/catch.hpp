#pragma once

// Catch2 version 2 and version 3 keep their header in different places.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
