#include "sandbox/layers/layer_check.hpp"

#include "sandbox/probe_facts.hpp"

namespace cmcp::sandbox {
namespace {

void look(json::object& facts) { facts["network"] = network_facts(); }

layer judge(const found_facts& found)
{
    const json::object& network = part(found.inside, "network");
    layer own = own_namespace(found, "net", "loopback only");
    if (own.is != layer::state::on) return own;
    if (!is_true(network, "unreachable")) return off("there is a route to addresses outside");
    const json::value* interfaces = network.if_contains("interfaces");
    if (interfaces == nullptr || !interfaces->is_array()) return off("its interfaces are unknown");
    for (const json::value& name : interfaces->get_array())
        if (!name.is_string() || name.get_string() != "lo") return off("it has interfaces besides loopback: " + json::serialize(name));
    return own;
}

}  // namespace

const layer_check network_namespace_check{"network_namespace", look, judge};

}  // namespace cmcp::sandbox
