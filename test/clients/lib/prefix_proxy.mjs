// A proxy that serves another server below a path, which it takes away and tells by X-Forwarded-Prefix.
import { once } from "node:events";
import http from "node:http";
import net from "node:net";

export async function start_prefix_proxy(to_port, prefix) {
    const place = (url) => url.slice(prefix.length) || "/";
    const server = http.createServer((request, response) => {
        if (request.url !== prefix && !request.url.startsWith(`${prefix}/`)) return response.writeHead(404).end("not below the prefix");
        const onward = http.request({ port: to_port, host: "127.0.0.1", method: request.method, path: place(request.url), headers: { ...request.headers, "x-forwarded-prefix": prefix } }, (answer) => {
            response.writeHead(answer.statusCode, answer.rawHeaders);
            answer.pipe(response);
        });
        onward.on("error", () => response.destroy());
        response.on("close", () => onward.destroy());
        return request.pipe(onward);
    });
    const open = new Set();
    server.on("upgrade", (request, socket, head) => {
        const onward = net.connect(to_port, "127.0.0.1", () => {
            const fields = [];
            for (let i = 0; i < request.rawHeaders.length; i += 2) fields.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`);
            onward.write(`GET ${place(request.url)} HTTP/1.1\r\n${fields.join("\r\n")}\r\nX-Forwarded-Prefix: ${prefix}\r\n\r\n`);
            onward.write(head);
            socket.pipe(onward).pipe(socket);
        });
        for (const [one, other] of [[socket, onward], [onward, socket]]) {
            open.add(one);
            one.on("error", () => other.destroy()).on("close", () => other.destroy());
        }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const stop = () => {
        for (const each of open) each.destroy();
        server.closeAllConnections();
        return new Promise((done) => server.close(done));
    };
    return { url: `http://127.0.0.1:${server.address().port}${prefix}`, stop };
}
