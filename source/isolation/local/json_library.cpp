// Boost.JSON itself: the program is static, and has no other library.
#include <boost/json/src.hpp>
