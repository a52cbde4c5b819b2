// type_check.mjs FILE...: what the compiler has against the examples. The packages' types know them; those of Node itself are
// not installed.
import ts from "typescript";

const options = { noEmit: true, strict: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2024, types: [] };
const complaints = ts.getPreEmitDiagnostics(ts.createProgram(process.argv.slice(2), options))
    .map((each) => ts.flattenDiagnosticMessageText(each.messageText, "\n"))
    .filter((text) => !/Cannot find name '(process|console|URL)'/.test(text));
console.log(complaints.join("\n"));
process.exitCode = complaints.length ? 1 : 0;
