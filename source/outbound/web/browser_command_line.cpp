#include "web/browser_process.hpp"

#include "jsonrpc/write_json.hpp"

#include <algorithm>
#include <string_view>

namespace cmcp {
namespace {

constexpr const char* fixed[] = {
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--window-size=1280,800",
    "--hide-scrollbars",
    "--mute-audio",
    "--lang=en-US",
    // no services of the browser's maker, no connections of its own
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-field-trial-config",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-search-engine-choice-screen",
    "--password-store=basic",
    "--use-mock-keychain",
    // no way to the network but the proxy: the network namespace enforces it, the switches keep pages from waiting
    "--disable-quic",
    "--dns-prefetch-disable",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    ("--disable-features=AsyncDns,AutofillServerCommunication,CertificateTransparencyComponentUpdater,"
     "DialMediaRouteProvider,IsolateOrigins,site-per-process,"
     "GlobalMediaControls,HttpsUpgrades,InterestFeedContentSuggestions,MediaRouter,NetworkPrediction,OptimizationHints,"
     "PreloadTopChromeWebUI,PrivacySandboxSettings4,SpareRendererForSitePerProcess,Translate,WebUSB"),
    // The frames of a page share its process: what they show is read and clicked through it. Each call has a context,
    // and so processes, of its own, and none of its pages knows a login.
    "--disable-site-isolation-trials",
    // a page for one call may ask for nothing and open nothing
    "--renderer-process-limit=12",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--disable-back-forward-cache",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
};

json::array blocked_addresses()
{
    return {"file://*", "chrome://*", "chrome-untrusted://*", "devtools://*", "view-source:*", "chrome-extension://*",
            "ftp://*"};
}

// The policy takes each certificate as base64 of DER, which is the body of PEM.
json::array certificates_in(std::string_view pem)
{
    constexpr std::string_view begin = "-----BEGIN CERTIFICATE-----";
    constexpr std::string_view end = "-----END CERTIFICATE-----";
    json::array all;
    for (auto at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin, at)) {
        at += begin.size();
        const auto stop = pem.find(end, at);
        if (stop == std::string_view::npos) break;
        std::string body(pem.substr(at, stop - at));
        std::erase_if(body, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
        all.emplace_back(std::move(body));
        at = stop;
    }
    return all;
}

}  // namespace

std::vector<std::string> browser_command_line(const std::string& program, const std::string& profile,
                                              std::uint16_t proxy_port)
{
    std::vector<std::string> argv{program};
    argv.insert(argv.end(), std::begin(fixed), std::end(fixed));
    argv.push_back("--user-data-dir=" + profile);
    argv.push_back("--proxy-server=http://127.0.0.1:" + std::to_string(proxy_port));
    return argv;
}

std::string browser_policy(const std::string& certificates)
{
    json::object policy;
    policy["URLBlocklist"] = blocked_addresses();
    policy["DownloadRestrictions"] = 3;
    policy["WebRtcIPHandling"] = "disable_non_proxied_udp";
    policy["DnsOverHttpsMode"] = "off";
    policy["NetworkPredictionOptions"] = 2;
    policy["SafeBrowsingProtectionLevel"] = 0;
    policy["DefaultPopupsSetting"] = 2;
    for (const char* setting :
         {"QuicAllowed", "BuiltInDnsClientEnabled", "ComponentUpdatesEnabled", "MetricsReportingEnabled",
          "BackgroundModeEnabled", "SearchSuggestEnabled", "TranslateEnabled", "AllowFileSelectionDialogs",
          "PrintingEnabled", "AudioCaptureAllowed", "VideoCaptureAllowed", "ScreenCaptureAllowed"})
        policy[setting] = false;
    for (const char* setting :
         {"DefaultNotificationsSetting", "DefaultGeolocationSetting", "DefaultWebBluetoothGuardSetting",
          "DefaultWebUsbGuardSetting", "DefaultSerialGuardSetting", "DefaultWebHidGuardSetting",
          "DefaultSensorsSetting", "DefaultLocalFontsSetting", "DefaultFileSystemReadGuardSetting",
          "DefaultFileSystemWriteGuardSetting", "DefaultClipboardSetting"})
        policy[setting] = 2;
    auto trusted = certificates_in(certificates);
    if (!trusted.empty()) policy["CACertificates"] = std::move(trusted);
    return jsonrpc::write_json(policy);
}

}  // namespace cmcp
