#include "sandboxes/call_records.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <system_error>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;
using state = kept_calls::known::state;

named_call call_of_ann(const std::string& key, const std::string& request = "whose 1")
{
    return {"ann", key, request, "sbx_1"};
}

kept_calls::kept_result result_of(const std::string& text)
{
    return std::make_shared<const json::object>(json::object{{"text", text}});
}

struct records_stage {
    std::size_t files() const
    {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(calls()), fs::directory_iterator()));
    }

    fs::path calls() const { return folder.path / call_records::folder_name; }

    // As if they had been written then.
    void age_all(std::chrono::seconds by) const
    {
        for (const auto& each : fs::directory_iterator(calls()))
            fs::last_write_time(each.path(), fs::last_write_time(each.path()) - by);
    }

    call_records copied(std::chrono::system_clock::time_point when) const
    {
        fs::create_directories(other.path / call_records::folder_name);
        records.copy(other.path / call_records::folder_name, when);
        return call_records(other.path);
    }

    temporary_folder folder, other;
    call_records records{folder.path};
};

}  // namespace

TEST_CASE("a call that is forgotten begins anew, also one that nobody knows")
{
    records_stage s;
    CHECK(s.records.begin(call_of_ann("k")).is == state::begins);
    CHECK(s.records.begin(call_of_ann("k")).is == state::has_begun);
    s.records.forget(call_of_ann("k"));
    CHECK(s.records.begin(call_of_ann("k")).is == state::begins);
    s.records.forget(call_of_ann("unknown"));
}

TEST_CASE("a sandbox keeps its calls, of each caller and each key")
{
    records_stage s;
    CHECK(s.records.begin(call_of_ann("k")).is == state::begins);
    CHECK(s.records.begin(call_of_ann("k")).is == state::has_begun);
    s.records.end(call_of_ann("k"), result_of("first"));
    const call_records after_a_restart(s.folder.path);
    const auto known = after_a_restart.begin(call_of_ann("k"));
    CHECK(known.is == state::ended);
    REQUIRE(known.result);
    CHECK(known.result->at("text") == "first");
    CHECK(s.records.begin(call_of_ann("k", "whose 2")).is == state::other);
    auto of_bob = call_of_ann("k");
    of_bob.principal = "bob";
    CHECK(s.records.begin(of_bob).is == state::begins);
    of_bob.request = "whose 2";
    CHECK(s.records.begin(of_bob).is == state::other);
    CHECK(s.files() == 2);
}

TEST_CASE("a call is kept for ten minutes after its end, and for a day where its end is not known")
{
    records_stage s;
    s.records.begin(call_of_ann("ended"));
    s.records.end(call_of_ann("ended"), result_of("first"));
    s.records.begin(call_of_ann("begun"));
    s.age_all(11min);
    CHECK(s.records.begin(call_of_ann("begun")).is == state::has_begun);
    CHECK(s.files() == 1);
    CHECK(s.records.begin(call_of_ann("ended")).is == state::begins);
    s.age_all(25h);
    CHECK(s.records.begin(call_of_ann("begun")).is == state::begins);
    CHECK(s.files() == 1);
}

TEST_CASE("a result that was too long, or has no room beside the others, is not kept, and its call not run again")
{
    records_stage s;
    s.records.begin(call_of_ann("long"));
    s.records.end(call_of_ann("long"), nullptr);
    CHECK(s.records.begin(call_of_ann("long")).is == state::has_begun);
    const std::string large(call_records::most_bytes / 2, 'x');
    for (const auto* key : {"a", "b", "c"}) {
        s.records.begin(call_of_ann(key));
        s.records.end(call_of_ann(key), result_of(large));
    }
    CHECK(s.records.begin(call_of_ann("a")).is == state::ended);
    CHECK(s.records.begin(call_of_ann("c")).is == state::has_begun);
}

TEST_CASE("a sandbox keeps so many calls and no more, and forgets none for others")
{
    records_stage s;
    for (std::size_t i = 0; i != call_records::most_calls; ++i)
        REQUIRE(s.records.begin(call_of_ann(std::to_string(i))).is == state::begins);
    CHECK(s.records.begin(call_of_ann("one more")).is == state::full);
    CHECK(s.records.begin(call_of_ann("0")).is == state::has_begun);
    s.age_all(25h);
    CHECK(s.records.begin(call_of_ann("one more")).is == state::begins);
}

TEST_CASE("a copy has the calls, those of which the files may not be whole as begun")
{
    records_stage s;
    s.records.begin(call_of_ann("before"));
    s.records.end(call_of_ann("before"), result_of("first"));
    s.age_all(60s);
    const auto files_are_read = std::chrono::system_clock::now() + 1ms;
    while (std::chrono::system_clock::now() <= files_are_read) continue;
    s.records.begin(call_of_ann("meanwhile"));
    s.records.end(call_of_ann("meanwhile"), result_of("second"));
    s.records.begin(call_of_ann("runs"));
    const auto copy = s.copied(files_are_read);
    CHECK(copy.begin(call_of_ann("before")).is == state::ended);
    CHECK(copy.begin(call_of_ann("meanwhile")).is == state::has_begun);
    CHECK(copy.begin(call_of_ann("meanwhile", "whose 2")).is == state::other);
    CHECK(copy.begin(call_of_ann("runs")).is == state::has_begun);
    CHECK(copy.begin(call_of_ann("none")).is == state::begins);
    // Its time goes along.
    for (const auto& each : fs::directory_iterator(s.other.path / call_records::folder_name))
        fs::last_write_time(each.path(), fs::last_write_time(each.path()) - 570s);
    CHECK(copy.begin(call_of_ann("before")).is == state::begins);
}

TEST_CASE("a sandbox that is gone keeps nothing")
{
    const temporary_folder folder;
    const call_records records(folder.path / "gone");
    CHECK_THROWS_AS(records.begin(call_of_ann("k")), std::system_error);
    CHECK_THROWS_AS(records.end(call_of_ann("k"), result_of("first")), std::system_error);
    records.copy(folder.path, std::chrono::system_clock::now());
    CHECK(fs::is_empty(folder.path));
}
