#pragma once

#include <boost/json.hpp>

namespace cmcp {

namespace json = boost::json;

}  // namespace cmcp
