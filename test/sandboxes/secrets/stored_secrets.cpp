#include "config/settings.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_key.hpp"
#include "secrets/secret_order.hpp"
#include "secrets/secret_sealer.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <fstream>
#include <iterator>

#include <sys/stat.h>

using namespace cmcp;

namespace {

namespace fs = std::filesystem;

/// The folder of a server, with a folder for its key beside it.
struct secrets_case {
    secrets_case()
    {
        config.sandbox_root = folder.path / "data";
        config.secrets_key_file = folder.path / "keys" / "secrets.key";
        fs::create_directories(config.sandbox_root);
    }
    secret_record set(const std::string& name, const std::string& value = "a value that is hidden")
    {
        secret_order wanted{name, "api.test", "Authorization: Bearer {}"};
        secret_store store(secret_store::file_in(config.sandbox_root));
        return set_secret(store, config, wanted, value, 100);
    }
    std::string refusal(const secret_order& wanted, const std::string& value = "a value that is hidden")
    {
        secret_store store(secret_store::file_in(config.sandbox_root));
        try {
            set_secret(store, config, wanted, value, 100);
        } catch (const std::invalid_argument& wrong) {
            return wrong.what();
        } catch (const secret_error& wrong) {
            return wrong.what();
        }
        return "";
    }
    std::string open(const secret_record& record) const { return secret_sealer(read_secrets_key(config)).open(record); }

    test::temporary_folder folder;
    settings config;
};

std::string content(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a secret is stored encrypted, and opens with its key")
{
    secrets_case s;
    const auto record = s.set("API_KEY");
    CHECK(s.open(record) == "a value that is hidden");
    for (const auto& file : fs::recursive_directory_iterator(s.folder.path))
        if (file.is_regular_file()) CHECK_FALSE(has(content(file.path()), "a value that is hidden"));
    struct stat status {};
    REQUIRE(::stat(s.config.secrets_key_file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK_FALSE(has(json::serialize(describe(record)), "hidden"));
}

TEST_CASE("a secret belongs to its hosts, its place and its owner")
{
    secrets_case s;
    const auto record = s.set("API_KEY");
    for (auto member : {&secret_record::name, &secret_record::principal, &secret_record::sandbox, &secret_record::hosts,
                        &secret_record::place}) {
        auto changed = record;
        changed.*member += "x";
        CHECK_THROWS_AS(s.open(changed), secret_error);
    }
    auto cut = record;
    cut.sealed.resize(8);
    CHECK_THROWS_AS(s.open(cut), secret_error);
}

TEST_CASE("a key that others may read, in the folder of data, or that is none, is refused")
{
    secrets_case s;
    s.set("API_KEY");
    ::chmod(s.config.secrets_key_file.c_str(), 0640);
    CHECK(has(s.refusal({"B", "api.test", "X: {}"}), "others may read it"));
    ::chmod(s.config.secrets_key_file.c_str(), 0600);
    CHECK(s.refusal({"B", "api.test", "X: {}"}).empty());
    std::ofstream(s.config.secrets_key_file) << "no key\n";
    CHECK(has(s.refusal({"C", "api.test", "X: {}"}), "64 hexadecimal digits"));
    s.config.secrets_key_file = s.config.sandbox_root / "secrets.key";
    CHECK(has(s.refusal({"C", "api.test", "X: {}"}), "SANDBOX_ROOT"));
    fs::create_symlink(s.config.sandbox_root, s.folder.path / "link");
    s.config.secrets_key_file = s.folder.path / "link" / "secrets.key";
    CHECK(has(s.refusal({"C", "api.test", "X: {}"}), "SANDBOX_ROOT"));
}

TEST_CASE("a key that was lost, and another one, are told; a new one is not made beside secrets")
{
    secrets_case s;
    s.set("API_KEY");
    const auto first = content(s.config.secrets_key_file);
    fs::remove(s.config.secrets_key_file);
    CHECK(has(s.refusal({"B", "api.test", "X: {}"}), "is not there"));
    CHECK_FALSE(fs::exists(s.config.secrets_key_file));
    std::ofstream(s.config.secrets_key_file) << std::string(64, 'a') << '\n';
    ::chmod(s.config.secrets_key_file.c_str(), 0600);
    CHECK(has(s.refusal({"B", "api.test", "X: {}"}), "put back the key"));
    std::ofstream(s.config.secrets_key_file) << first;
    CHECK(s.refusal({"B", "api.test", "X: {}"}).empty());
}

TEST_CASE("what is no secret is refused with a sentence that does not hold the value")
{
    secrets_case s;
    const std::string header = "X: {}";
    for (const auto* name : {"", "1A", "A B", "A-B", "PATH", "LD_PRELOAD", "PYTHONPATH", "SSL_CERT_FILE", "http_proxy"})
        CHECK(has(s.refusal({name, "api.test", header}), "cannot be the name"));
    for (const auto* hosts : {"", "*", "10.0.0.1", "!a.test", "https://a.test"})
        CHECK_FALSE(s.refusal({"K", hosts, header}).empty());
    CHECK(has(s.refusal({"K", "a.test"}), "one place"));
    CHECK(has(s.refusal({"K", "a.test", header, "key={}"}), "one place"));
    for (const auto& value : {std::string("short"), std::string("two\nlines of it"), std::string("with\r\nInjected: 1"),
                              std::string(5000, 'x'), std::string(" blank around "), std::string("\x01 control x")}) {
        const auto refusal = s.refusal({"K", "a.test", header}, value);
        CHECK_FALSE(refusal.empty());
        CHECK_FALSE(has(refusal, value));
    }
    secret_order of_nobody{"K", "a.test", header};
    of_nobody.principal = "No Name";
    CHECK(has(s.refusal(of_nobody), "principal"));
    CHECK(secret_store(secret_store::file_in(s.config.sandbox_root)).all().empty());
}

TEST_CASE("a secret of the same name, principal and sandbox takes the place of the earlier one")
{
    secrets_case s;
    s.set("API_KEY", "the first value");
    s.set("API_KEY", "the second value");
    secret_store store(secret_store::file_in(s.config.sandbox_root));
    REQUIRE(store.all().size() == 1);
    CHECK(s.open(store.all()[0]) == "the second value");
    const auto version = store.version();
    s.set("API_KEY", "the third value");
    CHECK(store.version() != version);
    CHECK_FALSE(store.remove("API_KEY", "ann", ""));
    CHECK(store.remove("API_KEY", "", ""));
    CHECK(store.all().empty());
}
