#include "egress/dns_answer.hpp"
#include "test/outbound/egress/egress_support.hpp"
#include "test/support/doubling.hpp"

#include <boost/asio/ip/udp.hpp>

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::uint16_t record_a = 1, record_aaaa = 28, record_https = 65, record_mx = 15;

std::string network_word(std::size_t number) { return {static_cast<char>(number >> 8), static_cast<char>(number)}; }

std::string labels_of(const std::string& name)
{
    std::string labels;
    for (std::size_t at = 0; at < name.size();) {
        const auto end = std::min(name.find('.', at), name.size());
        labels += static_cast<char>(end - at) + name.substr(at, end - at);
        at = end + 1;
    }
    return labels + '\0';
}

std::string query_of(const std::string& labels, std::uint16_t type, std::size_t questions = 1)
{
    const std::string head = network_word(0x1234) + network_word(0x0100) + network_word(questions);
    return head + std::string(6, 0) + labels + network_word(type) + network_word(1);
}

std::string with_options(std::string query)
{
    query[11] = 1;  // a record of EDNS0 (RFC 6891)
    return query + std::string("\0\0\x29\x10\0\0\0\0\0\0\0", 11);
}

int code_of(const std::string& answer) { return answer.at(3) & 15; }
int records_of(const std::string& answer) { return answer.at(7); }

struct name_stage {
    name_addresses names;
    std::vector<std::string> judged;

    std::optional<std::string> answer(const std::string& query)
    {
        return answer_names(query, names, [this](const host& who) {
            judged.push_back(who.name);
            return who.name == "one.example" || who.name.ends_with(".wide.example");
        });
    }
    std::string about(const std::string& name, std::uint16_t type) { return *answer(query_of(labels_of(name), type)); }
};

}  // namespace

TEST_CASE("a name keeps its addresses, and a forgotten name's are not given out soon")
{
    name_addresses names(named_range_v4(), 3);
    const auto first = names.address_of("one", false);
    CHECK(first.to_string() == "198.18.0.1");
    CHECK(names.address_of("one", true).to_string() == "fd63:6d63:7000::1");
    CHECK(names.address_of("two", false).to_string() == "198.18.0.2");
    CHECK(names.address_of("one", false) == first);
    CHECK(names.name_of(asio::ip::make_address("::ffff:198.18.0.2")) == "two");
    CHECK(names.name_of(asio::ip::make_address("fd63:6d63:7000::2")) == "two");
    for (const char* unknown : {"198.18.0.3", "198.18.0.0", "198.17.255.255", "10.0.0.1", "fd63:6d63:7000::3",
                                "fd63:6d63:7000:0:1::1", "fd63:6d63:7001::1", "::1"})
        CHECK_FALSE(names.name_of(asio::ip::make_address(unknown)));
    names.address_of("three", false);
    CHECK(names.name_of(first) == "one");
    CHECK(names.address_of("four", false).to_string() == "198.18.0.4");  // "two" was not used for the longest time
    CHECK_FALSE(names.name_of(asio::ip::make_address("198.18.0.2")));
    CHECK(names.name_of(first) == "one");
    CHECK(names.size() == 3);
}

TEST_CASE("addresses are given out through the whole range, none to two names")
{
    name_addresses names(asio::ip::make_network_v4("127.77.0.0/28"), 4);
    names.address_of("kept", false);
    std::vector<std::string> seen;
    for (int i = 0; i < 26; ++i) {
        seen.push_back(names.address_of("n" + std::to_string(i), false).to_string());
        CHECK(names.address_of("kept", false).to_string() == "127.77.0.1");
    }
    CHECK(seen[0] == "127.77.0.2");
    CHECK(seen[12] == "127.77.0.14");
    CHECK(seen[13] == "127.77.0.2");
    CHECK(seen[25] == "127.77.0.14");
}

TEST_CASE("an allowed name has the addresses that stand for it and nothing else")
{
    name_stage s;
    const auto v4 = s.about("one.example", record_a);
    CHECK(v4.substr(0, 12) == std::string("\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12));
    CHECK(v4.substr(12, 17) == labels_of("one.example") + std::string("\0\1\0\1", 4));
    CHECK(v4.substr(v4.size() - 16) == std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1", 16));
    const auto v6 = s.about("ONE.Example", record_aaaa);
    CHECK(v6.substr(v6.size() - 18) == std::string("\0\x10\xfd\x63\x6d\x63\x70\0\0\0\0\0\0\0\0\0\0\1", 18));
    for (const auto type : {record_https, record_mx, std::uint16_t{64}, std::uint16_t{16}, std::uint16_t{255}}) {
        const auto none = s.about("one.example", type);
        CHECK(code_of(none) == 0);
        CHECK(records_of(none) == 0);
    }
    CHECK(records_of(*s.answer(with_options(query_of(labels_of("one.example"), record_a)))) == 1);
}

TEST_CASE("every other name does not exist, and its labels go nowhere")
{
    name_stage s;
    for (const char* name : {"two.example", "one.example.evil.test", "single", "example", "198.18.0.1"}) {
        INFO(name);
        CHECK(code_of(s.about(name, record_a)) == 3);
    }
    const std::string label(63, 'x');
    CHECK(code_of(s.about(label + "." + label + "." + label + ".evil.test", record_a)) == 3);
    CHECK(s.names.size() == 0);
    s.judged.clear();
    CHECK(code_of(s.about("1.0.18.198.in-addr.arpa", 12)) == 3);
    CHECK(code_of(s.about("_https._tcp.elsewhere.test", 33)) == 3);
    CHECK(code_of(*s.answer(query_of("\3a.b\4wide\7example" + std::string(1, 0), record_a))) == 3);
    CHECK(code_of(*s.answer(query_of(std::string("\4a\0bc", 5) + labels_of("wide.example"), record_a))) == 3);
    CHECK(code_of(s.about("", record_a)) == 3);
    CHECK(s.judged.empty());
}

TEST_CASE("localhost is the sandbox itself")
{
    name_stage s;
    const auto v4 = s.about("localhost", record_a), v6 = s.about("a.LOCALHOST", record_aaaa);
    CHECK(v4.ends_with(std::string("\x7f\0\0\1", 4)));
    CHECK(v6.ends_with(std::string(15, 0) + '\1'));
    CHECK(s.judged.empty());
}

TEST_CASE("broken queries are told so, and answers get no answer")
{
    name_stage s;
    const std::string whole = query_of(labels_of("one.example"), record_a);
    const auto is_malformed = [&](const std::string& query) {
        const auto answer = s.answer(query);
        return answer && code_of(*answer) == 1 && answer->size() == 12;
    };
    for (std::size_t size = 12; size < whole.size(); ++size) CHECK(is_malformed(whole.substr(0, size)));
    for (std::size_t size = 0; size < 12; ++size) CHECK_FALSE(s.answer(whole.substr(0, size)));
    CHECK(is_malformed(query_of("\xc0\x0c", record_a)));  // leads to itself
    CHECK(is_malformed(query_of("\3one\xc0\x0c", record_a)));
    CHECK(is_malformed(query_of(std::string("\x40") + std::string(64, 'x') + '\0', record_a)));
    const std::string label = "\x3f" + std::string(63, 'x');
    CHECK(is_malformed(query_of(label + label + label + label + '\0', record_a)));
    CHECK(is_malformed(query_of(labels_of("one.example"), record_a, 0)));
    CHECK(is_malformed(query_of(labels_of("one.example"), record_a, 2) + labels_of("one.example") +
                       std::string("\0\1\0\1", 4)));
    std::string response = whole, notify = whole;
    response[2] = '\x81';
    notify[2] = '\x20';
    CHECK_FALSE(s.answer(response));
    CHECK(code_of(*s.answer(notify)) == 4);
    CHECK(s.judged.empty());
}

TEST_CASE("queries take time in proportion to their number, and a long one no more than a short one")
{
    using queries = std::vector<std::string>;
    const auto answer_all = [](const queries& all) {
        name_addresses names(named_range_v4(), 1000);
        for (const auto& each : all) answer_names(each, names, [](const host&) { return true; });
    };
    const auto different = [](std::size_t count) {
        queries all;
        for (std::size_t i = 0; i < count; ++i)
            all.push_back(query_of(labels_of("name" + std::to_string(i) + ".wide.example"), record_a));
        return all;
    };
    CHECK(growth(different, answer_all, 5'000) < linear_growth);
    const auto of_labels = [](std::size_t count) {
        std::string labels;
        for (std::size_t i = 0; i < count; ++i) labels += std::string("\1a");
        return queries(5'000, query_of(labels + '\0', record_a));
    };
    CHECK(growth(of_labels, answer_all, 1'000) < linear_growth);
}

TEST_CASE("names are served over UDP by the policy of the moment, and a refused one is told once")
{
    using asio::ip::udp;
    asio::io_context io;
    egress_guard guard(io.get_executor(), std::make_shared<egress_policy>());
    const auto rules = std::make_shared<egress_policy>(sandbox_rules({"one.example:8443"}, {"*"}));
    auto ticket = guard.issue("test", rules);
    auto names = std::make_shared<name_addresses>();
    udp::socket server(io, {asio::ip::address_v4::loopback(), 0}), client(io, udp::v4());
    client.connect(server.local_endpoint());
    task_group tasks(io.get_executor());
    tasks.spawn("names", guard.serve_names(std::move(server), names, [&] { return ticket; }));
    const auto ask = [&](const std::string& query) {
        client.send(asio::buffer(query));
        std::string answer(512, 0);
        auto received = [](udp::socket& from, std::string& into) -> awaitable<std::size_t> {
            auto [failure, size] = co_await from.async_receive(asio::buffer(into), as_tuple);
            co_return failure ? 0 : size;
        };
        answer.resize(run_coroutine(io, received(client, answer)));
        return answer;
    };
    CHECK(records_of(ask(query_of(labels_of("one.example"), record_a))) == 1);
    client.send(asio::buffer(std::string("no query")));
    for (int i = 0; i < 3; ++i) CHECK(code_of(ask(query_of(labels_of("two.example"), record_a))) == 3);
    REQUIRE(ticket->refusals().size() == 1);
    CHECK(ticket->refusals()[0].host == "two.example");
    CHECK(ticket->refusals()[0].rule == "network");
    CHECK(has(ticket->refusals()[0].sentence, "set_network"));
    ticket.reset();
    CHECK(code_of(ask(query_of(labels_of("one.example"), record_a))) == 3);
    CHECK(names->name_of(asio::ip::make_address("198.18.0.1")) == "one.example");
    tasks.cancel_all();
    run_coroutine(io, tasks.wait_idle(std::chrono::seconds(10)));
}
