#include "load/figure_text.hpp"

#include <iomanip>
#include <sstream>

namespace cmcp::load {

std::string fixed(double value, int digits)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

std::string duration_text(std::int64_t nanoseconds)
{
    auto ns = static_cast<double>(nanoseconds);
    if (ns < 1e6) return fixed(ns / 1e3, 0) + " us";
    return ns < 1e9 ? fixed(ns / 1e6, ns < 1e8 ? 2 : 0) + " ms" : fixed(ns / 1e9, 2) + " s";
}

}  // namespace cmcp::load
