#include "images/image_fetcher.hpp"

#include "images/image_pulls.hpp"
#include "images/image_source.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <signal.h>
#include <stdlib.h>

#include <exception>
#include <stdexcept>

namespace cmcp {

template <class Wire>
void fields(Wire& wire, sandbox::wired<Wire, fetcher_options>& of)
{
    wire(of.store, of.most_bytes, of.most_stored, of.pulls, of.variables);
}

namespace {

void tell(int server, fetch_message::kind kind, std::string text, std::span<const int> descriptors = {})
{
    sandbox::send_packet(server, encoded_message({kind, std::move(text)}), descriptors);
}

void set_variables(const std::vector<std::string>& variables)
{
    for (const auto& each : variables) {
        const auto equals = each.find('=');
        ::setenv(each.substr(0, equals).c_str(), each.substr(equals + 1).c_str(), 1);
    }
}

void require_room(const image_store& store, std::uint64_t most)
{
    std::uint64_t stored = 0;
    for (const auto& each : store.list()) stored += each.of.bytes;
    if (stored >= most)
        throw image_error("The images that are there take " + std::to_string(stored >> 20) +
                          " MiB, and SANDBOX_IMAGE_STORE_MB allows " + std::to_string(most >> 20) +
                          "; the server's operator can remove some: container-mcp image remove NAME.");
}

// The server has looked at the list already, but it may have been captured since.
image_order order_for(const std::string& name, const fetcher_options& options, int server)
{
    if (!image_pulls(options.pulls).allow(name))
        throw image_error("SANDBOX_IMAGE_PULL does not allow the image " + name + ".");
    image_order order;
    order.source = "docker://" + name;
    order.name = name;
    order.most_bytes = options.most_bytes;
    order.step = [server](const char* step) { tell(server, fetch_message::kind::step, step); };
    order.way_out = [server](int listener) { tell(server, fetch_message::kind::step, "fetching", {&listener, 1}); };
    return order;
}

std::string fetch_into_store(const std::string& name, const fetcher_options& options, int server)
{
    const image_store store(options.store);
    const auto order = order_for(name, options, server);
    require_room(store, options.most_stored);
    return add_image(store, order).of.digest;
}

}  // namespace

sandbox::startable_program fetcher_program(const std::string& path, const fetcher_options& options)
{
    return {path, {fetcher_role}, sandbox::encoded(options)};
}

std::string encoded_message(const fetch_message& message) { return sandbox::encoded(message.is, message.text); }

fetch_message decoded_message(const std::string& bytes)
{
    fetch_message message;
    sandbox::wire_reader in(bytes);
    in(message.is, message.text);
    return message;
}

int serve_image_fetch()
{
    if (!sandbox::begin_started_program("container-mcp's fetcher of images", "container-mcp", SIGKILL)) return 2;
    const unique_fd server(sandbox::starters_socket);
    try {
        const auto options = sandbox::decoded<fetcher_options>(sandbox::read_starters_input());
        set_variables(options.variables);
        prepare_to_add();
        const auto name = sandbox::await_packet_or_end(server.get()).bytes;
        tell(server.get(), fetch_message::kind::kept, fetch_into_store(name, options, server.get()));
        return 0;
    } catch (const std::exception& failure) {
        tell(server.get(), fetch_message::kind::failed, failure.what());
        return 1;
    }
}

}  // namespace cmcp
