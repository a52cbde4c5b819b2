// TLS before a server on loopback, with a certificate that is its own authority.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import tls from "node:tls";
import { temporary_folder } from "./server.mjs";

/// A certificate for `name`, such as "IP:127.0.0.1".
export function make_certificate(name) {
    const folder = temporary_folder();
    const [key, certificate] = ["key.pem", "certificate.pem"].map((file) => path.join(folder, file));
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test",
                             "-addext", `subjectAltName=${name}`, "-keyout", key, "-out", certificate], { stdio: "ignore" });
    return { key, certificate };
}

export async function start_tls_front(port, name = "IP:127.0.0.1") {
    const { key, certificate } = make_certificate(name);
    const server = tls.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(certificate) }, (outside) => {
        const inside = net.connect(port, "127.0.0.1");
        outside.pipe(inside).pipe(outside);
        for (const [one, other] of [[outside, inside], [inside, outside]]) one.on("error", () => other.destroy()).on("close", () => other.destroy());
    });
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return { url: `https://127.0.0.1:${server.address().port}`, certificate, stop: () => server.close() };
}
