// A call of REST as a command or a program that somebody can run. It knows no document.
//
// A call is { method, url, body, token, streams, file }: `body` an object, or undefined; `token` whether the server asks for one;
// `file` the name of a file that is the body.

export const tokenVariable = "CONTAINER_MCP_TOKEN";

const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function curl({ method, url, body, token, streams, file }) {
  const parts = [`curl -s${streams ? "N" : ""} ${method === "GET" || method === "POST" ? "" : `-X ${method} `}${quoted(url)}`];
  if (token) parts.push(`-H "Authorization: Bearer $${tokenVariable}"`);
  if (streams) parts.push("-H 'Accept: text/event-stream'");
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  else if (file) parts.push("-H 'Content-Type: application/octet-stream'", `--data-binary @${quoted(file)}`);
  else if (method === "POST") parts[0] = parts[0].replace("curl ", "curl -X POST ");
  return `${parts.join(" \\\n  ")}\n`;
}

const indented = (text, by) => text.replaceAll("\n", `\n${" ".repeat(by)}`);

function typescript({ method, url, body, token, streams, file }) {
  const headers = [body !== undefined ? `"Content-Type": "application/json"` : "", file ? `"Content-Type": "application/octet-stream"` : "",
    token ? `Authorization: \`Bearer \${process.env.${tokenVariable}}\`` : "", streams ? `Accept: "text/event-stream"` : ""].filter(Boolean);
  const options = [method === "GET" ? "" : `method: "${method}"`, headers.length ? `headers: { ${headers.join(", ")} }` : "",
    body !== undefined ? `body: JSON.stringify(${indented(JSON.stringify(body, null, 2), 2)})` : file ? `body: await readFile(${JSON.stringify(file)})` : ""].filter(Boolean);
  const begin = `${file ? `import { readFile } from "node:fs/promises";\n\n` : ""}const answer = await fetch(${JSON.stringify(url)}${options.length ? `, {\n  ${options.join(",\n  ")},\n}` : ""});\n`;
  if (streams) return `${begin}for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) process.stdout.write(text);\n`;
  return `${begin}const result = await answer.json();\nif (!answer.ok) throw new Error(\`\${result.error_type}: \${result.error}\`);\nconsole.log(result);\n`;
}

// JSON's escapes are those of Python, but for characters beyond its \u of four digits, which JSON.stringify leaves as they are.
function literal(value, indent = "") {
  const deeper = `${indent}    `;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const items = Array.isArray(value) ? value.map((each) => literal(each, deeper)) : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each, deeper)}`);
  const line = items.join(", ");
  return line.length < 80 && !line.includes("\n") ? open + line + close : `${open}\n${deeper}${items.join(`,\n${deeper}`)},\n${indent}${close}`;
}

function python({ method, url, body, token, streams, file }) {
  const headers = [body !== undefined ? `"Content-Type": "application/json"` : "", file ? `"Content-Type": "application/octet-stream"` : "",
    token ? `"Authorization": "Bearer " + os.environ["${tokenVariable}"]` : "", streams ? `"Accept": "text/event-stream"` : ""].filter(Boolean);
  const options = [JSON.stringify(url), `method="${method}"`, headers.length ? `headers={${headers.join(", ")}}` : "",
    body !== undefined ? "data=json.dumps(arguments).encode()" : file ? `data=open(${JSON.stringify(file)}, "rb").read()` : ""].filter(Boolean);
  const read = streams ? "        for line in answer:\n            print(line.decode(), end=\"\")\n" : "        print(json.load(answer))\n";
  return `import json\n${token ? "import os\n" : ""}import urllib.error\nimport urllib.request\n\n${body !== undefined ? `arguments = ${literal(body)}\n` : ""}request = urllib.request.Request(\n    ${options.join(",\n    ")},\n)\n` +
    `try:\n    with urllib.request.urlopen(request) as answer:\n${read}except urllib.error.HTTPError as refused:\n    print(json.load(refused))\n`;
}

export const languages = { curl, TypeScript: typescript, Python: python };
