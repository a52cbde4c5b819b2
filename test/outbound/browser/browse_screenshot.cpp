#include "test/outbound/browser/browser_support.hpp"
#include "test/outbound/browser/png.hpp"
#include "text/encodings.hpp"

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a screenshot shows the page, and one that is too large is sent as JPEG")
{
    if (!browser_is_installed()) return;
    browser_stage s;
    s.page("/",
           "<style>body{margin:0}div{height:100vh;width:50%;float:left}</style><div style='background:#f00'></div>"
           "<div id=b></div><script>b.style.background = '#00f'</script>");
    auto request = s.to("/");
    request.screenshot = true;
    const auto result = s.browse(request);
    INFO(result.error);
    REQUIRE(result.screenshot);
    CHECK(result.screenshot->media_type == "image/png");
    const png_image image(base64_decode(result.screenshot->base64).value_or(""));
    CHECK(image.width == 1280);
    CHECK(image.height == 800);
    CHECK(image.rgb(100, 400) == 0xff0000);
    CHECK(image.rgb(1100, 400) == 0x0000ff);

    s.page("/noise",
           "<body style='margin:0'><canvas id=c width=1280 height=800></canvas><script>const x = c.getContext('2d');"
           "const d = x.createImageData(1280, 800); let n = 1; for (let i = 0; i < d.data.length; i++) {"
           "n = Math.imul(n, 1103515245) + 12345; d.data[i] = i % 4 == 3 ? 255 : n >>> 16 & 255 } x.putImageData(d, 0, "
           "0)</script>");
    request.url = s.web.url("/noise");
    const auto noisy = s.browse(request);
    INFO(noisy.error);
    REQUIRE(noisy.screenshot);
    CHECK(noisy.screenshot->media_type == "image/jpeg");
    CHECK(noisy.screenshot->base64.size() <= (1u << 20) / 3 * 4);
    CHECK_FALSE(noisy.screenshot->base64.empty());
}
