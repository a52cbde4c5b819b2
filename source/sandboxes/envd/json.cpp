// Boost.JSON's own code: its library is there to be shared, and this program is static.
#include <boost/json/src.hpp>
