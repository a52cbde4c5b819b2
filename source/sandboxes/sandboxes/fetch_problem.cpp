#include "sandboxes/fetch_problem.hpp"

#include "images/image.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {
namespace {

struct fetch_advice {
    std::string_view sign;  ///< in what the program said
    std::string_view text;
};

constexpr std::string_view check_name = "Check its name and its tag";
constexpr std::string_view give_password =
    "The registry has no such image, or wants a password, which the server's operator gives by `skopeo login`";
constexpr std::array fetch_table{fetch_advice{"unauthorized", give_password},
                                 fetch_advice{"denied", give_password},
                                 fetch_advice{"authentication required", give_password},
                                 fetch_advice{"manifest unknown", check_name},
                                 fetch_advice{"name unknown", check_name},
                                 fetch_advice{"not found", check_name}};

// skopeo writes lines of time="…" level=… msg="…" with quotes escaped; the last one is the reason.
std::string last_message(const std::string& said)
{
    constexpr std::string_view begins = "msg=\"";
    const auto at = said.rfind(begins);
    const auto end = said.rfind('"');
    if (at == std::string::npos || end < at + begins.size()) return said;
    std::string message = said.substr(at + begins.size(), end - at - begins.size());
    std::erase(message, '\\');
    return message;
}

std::string_view advice_for(const std::string& reason)
{
    const auto fits = [&](const fetch_advice& each) { return reason.find(each.sign) != std::string::npos; };
    const auto at = std::find_if(fetch_table.begin(), fetch_table.end(), fits);
    return at == fetch_table.end() ? std::string_view() : at->text;
}

}  // namespace

std::string fetch_problem(const std::string& name, const std::string& said, const std::deque<egress_refusal>& refusals)
{
    const bool by_guard = !refusals.empty();
    std::string reason = by_guard ? refusals.back().sentence : last_message(said);
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    while (reason.ends_with('.')) reason.pop_back();
    std::string sentence = "The image \"" + name + "\" could not be fetched. " + reason + ". ";
    if (const auto text = advice_for(reason); !by_guard && !text.empty()) sentence.append(text).append(". ");
    return sentence +
           "It is not tried again within 30 seconds; the server's operator can add it, too: " + command_to_add(name);
}

}  // namespace cmcp
