// What kubectl makes of container/kubernetes, read from standard input: each object has the shape that Kubernetes publishes
// for its kind, without a field that Kubernetes would ignore or refuse.
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

for (const object of objects) {
    await test(`kubernetes: ${named(object)} has its kind's shape`, async () => {
        assert.deepEqual(complaints(object), []);
        await validate(object);
    });
}
await test("kubernetes: all kinds of the base are there", () => {
    const kinds = objects.map((object) => object.kind).sort();
    assert.deepEqual(kinds, ["ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "Service", "ServiceAccount"]);
});
await test("kubernetes: a field that does not exist is found", () => {
    const broken = structuredClone(objects.find((object) => object.kind === "Deployment"));
    broken.spec.template.spec.hostUser = false;
    assert.match(complaints(broken).join(), /hostUser/);
});
