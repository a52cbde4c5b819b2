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
    cluster: ["ConfigMap", "HorizontalPodAutoscaler", "Namespace", "NetworkPolicy", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "PodDisruptionBudget",
        "Service", "Service", "Service", "ServiceAccount", "StatefulSet", "StatefulSet"],
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
    const broken = structuredClone(objects.find((object) => ["Deployment", "StatefulSet"].includes(object.kind)));
    broken.spec.template.spec.hostUser = false;
    assert.match(complaints(broken).join(), /hostUser/);
});
if (what === "cluster") {
    const of = (name, kind = "StatefulSet") => objects.find((object) => object.kind === kind && object.metadata.name === name);
    const [servers, etcd] = ["container-mcp", "container-mcp-etcd"].map((name) => of(name));
    const settings = objects.find((object) => object.kind === "ConfigMap").data["custom.env"];
    const variables = (set) => set.spec.template.spec.containers[0].env;
    const pods = (set) => Array.from({ length: set.spec.replicas }, (_, i) => `${set.metadata.name}-${i}`);
    await test("kubernetes cluster: each server has a name, a certificate, an address and a disk of its own", () => {
        const place = (name) => variables(servers).findIndex((each) => each.name === name);
        for (const name of ["CLUSTER_CERT", "CLUSTER_KEY", "CLUSTER_ADVERTISE"]) assert(place("SANDBOX_NODE") >= 0 && place("SANDBOX_NODE") < place(name), "a variable is used before it is set");
        assert.equal(variables(servers)[place("CLUSTER_ADVERTISE")].value, `$(SANDBOX_NODE).${servers.spec.serviceName}:9100`);
        assert.deepEqual(servers.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name), ["state"]);
        assert(!servers.spec.template.spec.volumes.some(({ name }) => name === "state"), "all servers share a disk");
    });
    await test("kubernetes cluster: the servers name all members of etcd, which know each other", () => {
        const addresses = pods(etcd).map((pod) => [pod, `https://${pod}.${etcd.spec.serviceName}`]);
        assert.equal(/^CLUSTER_ETCD=(.*)$/m.exec(settings)[1], addresses.map(([, url]) => `${url}:2379`).join(","));
        const value = (name) => variables(etcd).find((each) => each.name === name).value;
        assert.equal(value("ETCD_INITIAL_CLUSTER"), addresses.map(([pod, url]) => `${pod}=${url}:2380`).join(","));
        assert.deepEqual([value("ETCD_CLIENT_CERT_AUTH"), value("ETCD_PEER_CLIENT_CERT_AUTH")], ["true", "true"]);
    });
    await test("kubernetes cluster: what chooses pods finds those of the servers and of etcd", () => {
        const labels = new Map([servers, etcd].map((set) => [set.metadata.name, set.spec.template.metadata.labels]));
        const chooses = (selector, name) => Object.entries(selector.matchLabels ?? selector).every(([key, text]) => labels.get(name)[key] === text);
        for (const [kind, name, selector] of objects.filter(({ kind }) => ["Service", "PodDisruptionBudget"].includes(kind)).map((object) => [object.kind, object.metadata.name, object.spec.selector])) {
            const wanted = name === "container-mcp-etcd" ? "container-mcp-etcd" : "container-mcp";
            assert.deepEqual([...labels.keys()].filter((each) => chooses(selector, each)), [wanted], `${kind} ${name}`);
        }
        const { scaleTargetRef, minReplicas } = of("container-mcp", "HorizontalPodAutoscaler").spec;
        assert.deepEqual([scaleTargetRef.kind, scaleTargetRef.name, minReplicas], [servers.kind, servers.metadata.name, servers.spec.replicas]);
    });
}
