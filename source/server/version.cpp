#include "server/commands.hpp"

#include <boost/version.hpp>

#include <iostream>

namespace cmcp::command {

int show_version()
{
    std::cout << "container-mcp " CMCP_VERSION "\n"
              << "Boost " << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << ", built with "
              << __VERSION__ << '\n';
    return 0;
}

}  // namespace cmcp::command
