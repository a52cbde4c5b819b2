// What kubectl makes of container/kubernetes ("base") or container/kubernetes-cluster ("cluster"), read from standard input: each
// object has the shape that Kubernetes publishes for its kind, without a field that Kubernetes would ignore or refuse.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import ts from "typescript";
import { parseAllDocuments } from "yaml";
import { test } from "../lib/report.mjs";

const home = path.resolve(import.meta.dirname, "..");
const objects = parseAllDocuments(fs.readFileSync(0, "utf8")).map((document) => document.toJS());
const named = (object) => `${object.kind} ${object.metadata.name}`;

/** The compiler's complaints about an object: the types know every field, and a literal may have no other. */
function complaints(object) {
    const file = path.join(home, "kubernetes-object.mts");
    const text = `export const it: import("kubernetes-models/${object.apiVersion}").I${object.kind} = ${JSON.stringify(object)};`;
    const options = { noEmit: true, strict: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, types: [] };
    const host = ts.createCompilerHost(options);
    const read = host.getSourceFile;
    host.getSourceFile = (name, ...more) => name === file ? ts.createSourceFile(name, text, ...more) : read(name, ...more);
    return ts.getPreEmitDiagnostics(ts.createProgram([file], options, host))
        .map((found) => ts.flattenDiagnosticMessageText(found.messageText, "\n"));
}

/** Values, which types cannot tell: numbers of ports, forms of quantities. */
async function validate(object) {
    const models = await import(`kubernetes-models/${object.apiVersion}`);
    new models[object.kind](object).validate();
}

const KINDS = {
    base: ["ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "Service", "ServiceAccount"],
    cluster: ["ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "Service", "ServiceAccount", "StatefulSet"],
};
const what = process.argv[2];

for (const object of objects) {
    await test(`kubernetes ${what}: ${named(object)} has its kind's shape`, async () => {
        assert.deepEqual(complaints(object), []);
        await validate(object);
    });
}
await test(`kubernetes ${what}: all kinds are there`, () => {
    assert.deepEqual(objects.map((object) => object.kind).sort(), KINDS[what]);
});
await test(`kubernetes ${what}: a field that does not exist is found`, () => {
    const broken = structuredClone(objects.find((object) => object.kind === "Deployment"));
    broken.spec.template.spec.hostUser = false;
    assert.match(complaints(broken).join(), /hostUser/);
});
if (what === "cluster") {
    const servers = objects.find((object) => object.kind === "StatefulSet");
    const settings = objects.find((object) => object.kind === "ConfigMap").data["custom.env"];
    await test("kubernetes cluster: the servers are those of CLUSTER_MEMBERS, each with a name, a certificate and a disk of its own", () => {
        const names = /^CLUSTER_MEMBERS=(.*)$/m.exec(settings)[1].split(",").map((member) => member.split("=")[0]);
        assert.deepEqual(names, Array.from({ length: servers.spec.replicas }, (_, i) => `${servers.metadata.name}-${i}`));
        const container = servers.spec.template.spec.containers[0];
        const place = container.env.findIndex(({ name }) => name === "SANDBOX_NODE");
        assert(place >= 0 && place < container.env.findIndex(({ name }) => name === "CLUSTER_CERT"), "a variable is used before it is set");
        assert.deepEqual(servers.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name), ["state"]);
        assert(!servers.spec.template.spec.volumes.some(({ name }) => name === "state"), "all servers share a disk");
    });
}
