#include "egress/tls_trust.hpp"

#include "config/settings.hpp"
#include "test/outbound/egress/egress_support.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("certificate authorities are read once for all that name the same file, as long as somebody keeps them")
{
    asio::io_context io;
    const auto find = [&](const std::filesystem::path& extra) {
        return run_coroutine(io, find_client_context(extra, "WEB_CA_FILE"));
    };
    const temporary_folder folder;
    const auto file = folder.path / "ca.pem";
    std::ofstream(file) << test_ca("localhost").authority_pem;
    auto of_machine = find({}), of_file = find(file);
    CHECK(of_machine != of_file);
    CHECK(find({}) == of_machine);
    CHECK(shared_client_context({}, "WEB_CA_FILE") == of_machine);
    CHECK(find(file) == of_file);
    std::ofstream(file) << "no certificate";
    CHECK(find(file) == of_file);
    of_file.reset();
    CHECK_THROWS_AS(find(file), config_error);
    CHECK_THROWS_AS(shared_client_context(file, "WEB_CA_FILE"), config_error);
}
