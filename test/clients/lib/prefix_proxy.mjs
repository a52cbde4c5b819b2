// A proxy that serves another server below a path, which it takes away and tells by X-Forwarded-Prefix.
import { start_http_front } from "./http_front.mjs";

export async function start_prefix_proxy(to_port, prefix) {
    const front = await start_http_front(({ url }) => {
        if (url !== prefix && !url.startsWith(`${prefix}/`)) return null;
        return { port: to_port, path: url.slice(prefix.length) || "/", headers: { "x-forwarded-prefix": prefix } };
    });
    return { url: front.url + prefix, stop: front.stop };
}
