#include "audit/sink.hpp"

#include <array>

namespace cmcp::audit {

namespace {

sink* sink_in_use = nullptr;

constexpr std::array<std::string_view, 14> kind_names{"call",   "running", "job",     "login",  "login_refused",
                                                      "egress", "admin",   "start",   "stop",   "file",
                                                      "head",   "torn",    "dropped", "removed"};

}  // namespace

std::string_view name_of(kind is) { return kind_names.at(static_cast<std::size_t>(is)); }

sink* current() { return sink_in_use; }

void use(sink* of_process) { sink_in_use = of_process; }

}  // namespace cmcp::audit
