#include "e2b/terms.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/handles.hpp"
#include "text/signature.hpp"
#include "text/time_text.hpp"

#include <chrono>

namespace cmcp::e2b {

namespace {

constexpr std::size_t digits = 32;  // of a handle

double seconds_in(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

}  // namespace

std::optional<terms> terms_of(const sandbox_record& record)
{
    if (record.terms.empty()) return std::nullopt;
    const auto all = jsonrpc::read_object(record.terms);
    terms of;
    of.made_from = text_of(all, "template");
    of.token = text_of(all, "token");
    of.metadata = object_of(all, "metadata");
    of.variables = object_of(all, "variables");
    of.network = object_of(all, "network");
    if (all.contains("internet")) of.internet = flag_of(all, "internet");
    of.started = seconds_in(all, "started");
    of.resumes = flag_of(all, "resumes");
    of.secure = !flag_of(all, "insecure");
    of.is_open = !flag_of(all, "closed");
    of.of = text_of(all, "of");
    of.name = text_of(all, "name");
    of.recipe = object_of(all, "recipe");
    return of;
}

std::string text_of_terms(const terms& all)
{
    json::object text{
        {"template", all.made_from}, {"token", all.token},     {"metadata", all.metadata}, {"variables", all.variables},
        {"network", all.network},    {"started", all.started}, {"resumes", all.resumes},   {"insecure", !all.secure},
        {"closed", !all.is_open},    {"of", all.of},           {"name", all.name}};
    if (!all.recipe.empty()) text["recipe"] = all.recipe;
    if (all.internet) text["internet"] = *all.internet;
    return jsonrpc::write_json(text);
}

std::string id_of(std::string_view handle)
{
    const auto node = handle_maker::node_of(handle);
    return std::string(handle.substr(handle.size() - digits)) + "-" + std::string(node);
}

std::string handle_of(std::string_view id)
{
    if (id.size() < digits + 2 || id[digits] != '-') return {};
    auto handle = "sbx_" + std::string(id.substr(digits + 1)) + "_" + std::string(id.substr(0, digits));
    return handle_maker::fits("sbx", handle) ? handle : std::string();
}

std::string time_text(double seconds)
{
    const std::chrono::duration<double> since(seconds);
    return timestamp(
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since)));
}

std::string traffic_token(const terms& of) { return signature_of(of.token, "traffic"); }

}  // namespace cmcp::e2b
