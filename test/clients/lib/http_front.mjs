// A front on a port of its own that gives each request to the server that `place` names, WebSockets too.
import { once } from "node:events";
import http from "node:http";
import net from "node:net";

const bad_gateway = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

function pass_request(request, response, { port, path, headers }) {
    const onward = http.request({ port, host: "127.0.0.1", method: request.method, path, headers: { ...request.headers, ...headers } }, (answer) => {
        response.writeHead(answer.statusCode, answer.rawHeaders);
        response.flushHeaders();
        answer.pipe(response);
        answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
}

function head_of(request, { path, headers }) {
    const fields = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2) fields.push([request.rawHeaders[i], request.rawHeaders[i + 1]]);
    const lines = [...fields, ...Object.entries(headers)].map(([name, value]) => `${name}: ${value}`);
    return `GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

/// `place(request)` is {port, path, headers}, the headers beside those of the client; null: 404. `port` 0: any that is free.
export async function start_http_front(place, port = 0) {
    const onward_to = (request) => {
        const to = place(request);
        return to && { path: request.url, headers: {}, ...to };
    };
    const server = http.createServer((request, response) => {
        const to = onward_to(request);
        if (!to) return response.writeHead(404).end("nothing is served there");
        return pass_request(request, response, to);
    });
    const open = new Set();
    server.on("upgrade", (request, socket, head) => {
        const to = onward_to(request);
        if (!to) return socket.end(bad_gateway);
        const onward = net.connect(to.port, "127.0.0.1", () => {
            onward.write(head_of(request, to));
            onward.write(head);
            socket.pipe(onward).pipe(socket);
        });
        for (const [one, other] of [[socket, onward], [onward, socket]]) {
            open.add(one);
            one.on("error", () => other.destroy()).on("close", () => { open.delete(one); other.destroy(); });
        }
    });
    server.requestTimeout = 0;      // a call lasts as long as it lasts
    server.keepAliveTimeout = 120_000;      // a client that is busy must not find its connection gone
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const stop = () => {
        for (const each of open) each.destroy();
        server.closeAllConnections();
        return new Promise((done) => server.close(done));
    };
    return { port: server.address().port, url: `http://127.0.0.1:${server.address().port}`, stop };
}

/// Each request goes to the next one of `ports()`, whatever it asks for and whoever asks.
export function start_round_robin(ports, port = 0) {
    let turn = 0;
    return start_http_front(() => {
        const all = ports();
        return { port: all[turn++ % all.length] };
    }, port);
}
