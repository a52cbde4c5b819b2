#include "test/support/catch.hpp"

#include "mcp/arguments/schema_validator.hpp"
#include "tools/field.hpp"

using namespace cmcp;

namespace {

struct point_input {
    double x = 0;
    std::optional<std::string> label;
};

struct paged_input {
    std::uint64_t limit = 20;
};

struct drawing_input : paged_input {
    std::string title;
    std::string color = "black";
    bool filled = false;
    std::chrono::milliseconds patience{100};
    std::vector<point_input> points;
    std::vector<std::string> tags;
};

fields<drawing_input> drawing_fields()
{
    using input = drawing_input;
    const field<paged_input> limit{"limit", &paged_input::limit, "How many", rule::between(1, 50)};
    return {{"title", &input::title, "Its name", rule::required},
            {"color", &input::color, "Of the line", rule::one_of({"black", "red"}), rule::with_default},
            {"filled", &input::filled, "", rule::with_default},
            limit,
            {"patience", &input::patience, "Seconds"},
            {"points", &input::points, "Where",
             rule::items<point_input>{"A point",
                                      {{"x", &point_input::x, "", rule::between(0.0, 1.0), rule::required},
                                       {"label", &point_input::label, ""}}}},
            {"tags", &input::tags, "", json::object{{"items", schema::string("A word")}, {"maxItems", 2}}}};
}

json::object parsed(std::string_view text) { return json::parse(text).as_object(); }

}  // namespace

TEST_CASE("the input schema follows from the fields, in their order")
{
    CHECK(json::serialize(input_schema(drawing_fields())) ==
          R"({"type":"object","properties":{)"
          R"("title":{"type":"string","description":"Its name"},)"
          R"("color":{"type":"string","description":"Of the line","enum":["black","red"],"default":"black"},)"
          R"("filled":{"type":"boolean","default":false},)"
          R"("limit":{"type":"integer","description":"How many","minimum":1,"maximum":50},)"
          R"("patience":{"type":"number","description":"Seconds"},)"
          R"("points":{"type":"array","description":"Where","items":{"type":"object","description":"A point",)"
          R"("properties":{"x":{"type":"number","minimum":0E0,"maximum":1E0},"label":{"type":"string"}},)"
          R"("required":["x"]}},)"
          R"("tags":{"type":"array","items":{"type":"string","description":"A word"},"maxItems":2}},)"
          R"("required":["title"],"additionalProperties":false})");
    CHECK(json::serialize(input_schema(fields<point_input>{})) ==
          R"({"type":"object","properties":{},"additionalProperties":false})");
}

TEST_CASE("lists of tools have the fields without bounds, plain defaults, rare arguments and most examples")
{
    using input = drawing_input;
    fields<input> all = drawing_fields();
    all.push_back({"rare", &input::limit, "", rule::unlisted});
    all.push_back({"taught", &input::title, "", rule::listed_example{"a"}});
    all.push_back({"plain", &input::title, "", rule::example("b")});
    CHECK(json::serialize(listed_schema(all)) ==
          R"({"type":"object","properties":{)"
          R"("title":{"type":"string","description":"Its name"},)"
          R"("color":{"type":"string","description":"Of the line","enum":["black","red"],"default":"black"},)"
          R"("filled":{"type":"boolean"},)"
          R"("limit":{"type":"integer","description":"How many"},)"
          R"("patience":{"type":"number","description":"Seconds"},)"
          R"("points":{"type":"array","description":"Where","items":{"type":"object","description":"A point",)"
          R"("properties":{"x":{"type":"number"},"label":{"type":"string"}},"required":["x"]}},)"
          R"("tags":{"type":"array","items":{"type":"string","description":"A word"}},)"
          R"("taught":{"type":"string","examples":["a"]},"plain":{"type":"string"}},"required":["title"]})");
    CHECK(input_schema(all).at("properties").as_object().contains("rare"));
}

TEST_CASE("arguments become an input, and what is left out keeps its initial value")
{
    const auto all = drawing_fields();
    const auto full = read_input(all, parsed(R"({"title": "a", "color": "red", "filled": true, "limit": 5.0,
        "patience": 0.25, "points": [{"x": 1}, {"x": 0.5, "label": "b"}], "tags": ["c", "d"]})"));
    CHECK(full.title == "a");
    CHECK(full.color == "red");
    CHECK(full.filled);
    CHECK(full.limit == 5);
    CHECK(full.patience == std::chrono::milliseconds(250));
    REQUIRE(full.points.size() == 2);
    CHECK(full.points[0].x == 1);
    CHECK_FALSE(full.points[0].label);
    CHECK(full.points[1].label == "b");
    CHECK(full.tags == std::vector<std::string>{"c", "d"});
    const auto sparse = read_input(all, parsed(R"({"title": ""})"));
    CHECK(sparse.color == "black");
    CHECK(sparse.limit == 20);
    CHECK(sparse.patience == std::chrono::milliseconds(100));
    CHECK(sparse.points.empty());
}

TEST_CASE("arguments that the fields do not describe are refused before they are read")
{
    const schema_validator validator(input_schema(drawing_fields()));
    const std::pair<const char*, const char*> refused[] = {
        {R"({})", "argument `title` is missing"},
        {R"({"title": 1})", "argument `title` must be a string, not a number"},
        {R"({"title": "", "color": "blue"})", R"(argument `color` must be one of "black", "red")"},
        {R"({"title": "", "limit": 51})", "argument `limit` must be <= 50"},
        {R"({"title": "", "points": [{"x": 2}]})", "argument `points[0].x` must be <= 1"},
        {R"({"title": "", "points": [{}]})", "argument `points[0].x` is missing"},
        {R"({"title": "", "tags": ["a", "b", "c"]})", "argument `tags` must hold at most 2 item(s)"}};
    for (const auto& [arguments, sentence] : refused) {
        auto values = parsed(arguments);
        CHECK(validator.check(values) == sentence);
    }
}
