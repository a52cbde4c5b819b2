#include "cluster/member_loads.hpp"

#include "images/image_pulls.hpp"
#include "jsonrpc/read_object.hpp"
#include "sandboxes/image_choice.hpp"

#include <algorithm>
#include <set>

namespace cmcp {

server_load read_load(const json::object& about)
{
    server_load load;
    load.runs = count_of(about, "runs");
    load.most_runs = count_of(about, "max_runs");
    load.runs_waiting = count_of(about, "runs_waiting");
    load.sandboxes = count_of(about, "sandboxes");
    load.homes = count_of(about, "homes");
    load.memory_free = count_of(about, "memory_available");
    load.memory = count_of(about, "memory");
    load.disk_free = count_of(about, "disk_available");
    load.disk = count_of(about, "disk");
    load.drains = flag_of(about, "drains");
    return load;
}

namespace {

// As stores name it, whether it was added or fetched. Empty: any server will do.
std::vector<std::string> names_of(const std::string& image)
try {
    if (image_choice::is_native(image)) return {};
    return {image_name(image), fetched_name(image)};
} catch (const image_error&) {
    return {image};  // which this server refuses
}

label_map labels_of(const json::object& about)
{
    label_map all;
    for (const auto& each : object_of(about, "labels"))
        if (each.value().is_string()) all.emplace(each.key(), each.value().get_string());
    return all;
}

bool has_image(const json::object& about, const std::vector<std::string>& names)
{
    const auto* images = about.if_contains("images");
    if (images == nullptr || !images->is_array()) return names.empty();
    return names.empty() || std::ranges::any_of(images->get_array(), [&names](const json::value& each) {
               return each.is_string() &&
                      std::find(names.begin(), names.end(), std::string_view(each.get_string())) != names.end();
           });
}

}  // namespace

// An image that no server has does not count: one may fetch it.
member_loads::fitting member_loads::those_with(const wish& needs) const
{
    const auto names = names_of(needs.image);
    const auto choose = [&](const std::vector<std::string>& images) {
        const auto fits = [&](const json::object& about) {
            return has_image(about, images) && has_labels(labels_of(about), needs.labels);
        };
        fitting all{fits(about_own_), false, other_loads_};
        all.image = all.own;
        for (std::size_t i = 0; i != names_.size(); ++i) {
            const auto* about = members_.about(names_[i]);
            const bool has_it = about != nullptr && fits(*about);
            all.image = all.image || has_it;
            all.others[i].drains = all.others[i].drains || !has_it;
        }
        return all;
    };
    auto all = choose(names);
    if (all.image || names.empty()) return all;
    all = choose({});
    all.image = false;
    return all;
}

bool member_loads::has_own(const label_map& wanted) const { return has_labels(labels_of(about_own_), wanted); }

std::vector<std::string> member_loads::labels() const
{
    std::set<std::string> all;
    const auto add = [&all](const json::object& about) {
        for (const auto& [name, value] : labels_of(about)) all.insert(name + "=" + value);
    };
    add(about_own_);
    for (const auto& name : names_)
        if (const auto* about = members_.about(name)) add(*about);
    return {all.begin(), all.end()};
}

void member_loads::look_again()
{
    about_own_ = own_();
    own_load_ = read_load(about_own_);
    names_.clear();
    other_loads_.clear();
    for (const auto& each : members_.others()) {
        names_.push_back(each.name);
        other_loads_.push_back(read_load(*members_.about(each.name)));
    }
}

std::string member_loads::note_place(std::optional<std::size_t> place)
{
    if (!place) return {};
    note_placed(other_loads_[*place]);
    return names_[*place];
}

std::string member_loads::place_sandbox(const wish& needs)
{
    if (needs.labels.empty() && image_choice::is_native(needs.image))
        return note_place(cmcp::place_sandbox(own_load_, other_loads_, chance_));
    const auto all = those_with(needs);
    if (all.own && !all.image) return {};
    auto own = own_load_;
    own.drains = own.drains || !all.own;
    return note_place(place_by_pressure(own, all.others));
}

std::string member_loads::place_brought(const wish& needs)
{
    const auto all = those_with(needs);
    if (all.own) return {};
    auto own = own_load_;
    own.drains = true;
    return note_place(place_by_pressure(own, all.others));
}

std::string member_loads::place_given_away(const wish& needs)
{
    auto full = own_load_;
    full.drains = true;
    return note_place(place_by_pressure(full, those_with(needs).others));
}

std::string member_loads::place_surplus(const wish& needs)
{
    const auto place = cmcp::place_surplus(own_load_, those_with(needs).others);
    if (place) --own_load_.sandboxes;
    return note_place(place);
}

bool member_loads::takes_home(std::string_view member) const
{
    const auto place = std::ranges::find(names_, member) - names_.begin();
    const auto at = static_cast<std::size_t>(place);
    if (at == names_.size() && member != members_.own().name) return false;
    const auto& load = at == names_.size() ? own_load_ : other_loads_[at];
    auto all = own_load_.homes;
    auto takers = static_cast<std::size_t>(!own_load_.drains);
    for (const auto& each : other_loads_) {
        all += each.homes;
        if (!each.drains) ++takers;
    }
    return !load.drains && load.homes < most_homes(all, takers);
}

}  // namespace cmcp
