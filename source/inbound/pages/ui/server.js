// The state of the page, and requests to the server.

import { complain } from "./elements.js";

/// Lists are newest first. `session` is null while nobody is logged in.
const fresh = () => ({
  session: null, health: { status: "", problems: [] }, runs: [], usage: { machine: {}, principals: [] }, ends: [], egress: [], dropped: 0,
  // Of a cluster: the server whose rows are shown (empty: all), rows of the others, figures by server, use by server and principal.
  node: "", others: { runs: [], ends: [], egress: [] }, machines: {}, principals: [], unreachable: [],
});
export const state = fresh();

/// The columns of lists by their names, as the server has sent them.
export const listColumns = {};
export const forgetState = () => Object.assign(state, fresh());

export class Refusal extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const silent = "The server does not answer.";

export async function send(path, options) {
  try { return await fetch(path, { credentials: "same-origin", ...options }); } catch { throw new Refusal(0, silent); }
}

/// What a request needs that changes something.
export const proof = () => state.session && state.session.csrf ? { "X-CSRF-Token": state.session.csrf } : {};

/// The object of an answer. Throws Refusal; a login that has ended is an event `logged-out`, too.
export async function objectOf(answer) {
  const text = await answer.text();
  let object = {};
  try { object = text ? JSON.parse(text) : {}; } catch { object = { error: text.slice(0, 300) }; }
  if (answer.ok) return object;
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("logged-out", { detail: reasonOf(answer, object) }));
  throw new Refusal(answer.status, object.error || `The server answered ${answer.status}.`);
}

/// Why a login has ended: the server says more where it still knows the credentials.
export const reasonOf = (answer, object) => (answer.headers.get("www-authenticate") || "").includes("error=") ? object.error : "Your login has ended; log in again.";

export async function ask(method, path, body) {
  const headers = { Accept: "application/json", ...(method === "GET" ? {} : proof()) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const object = await objectOf(await send(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
  if (method === "GET" && object.columns) Object.assign(listColumns, object.columns);
  return object;
}

export const tool = (name, values) => ask("POST", `mcp/tools/${name}`, values);

/// The same, with what the program prints as it comes: `print(text)`. `stop`: an AbortSignal, which ends the run.
export async function toolWithOutput(name, values, print, stop) {
  const headers = { Accept: "text/event-stream", "Content-Type": "application/json", ...proof() };
  const answer = await send(`mcp/tools/${name}`, { method: "POST", headers, body: JSON.stringify(values), signal: stop });
  if (!(answer.headers.get("content-type") || "").startsWith("text/event-stream")) return objectOf(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", result;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      const kind = (/^event: *(.*)$/m.exec(frame) || [])[1];
      if (kind === "stdout" || kind === "stderr") print(JSON.parse(data).text);
      if (kind === "result") result = JSON.parse(data);
    }
  }
  if (!result) throw new Refusal(0, "The connection ended before the result came.");
  if (result.error_type && result.exit_code === undefined) throw new Refusal(400, result.error);
  return result;
}

/// The result of the work; undefined: it failed, and the page says why.
export async function attempt(work) {
  complain("");
  try { return await work(); } catch (problem) {
    if (!(problem instanceof Refusal)) console.error(problem);
    if (problem.status !== 401) complain(problem.message);
    return undefined;
  }
}

/// Whether the caller's credentials have a scope, without its mcp:.
export const may = (scope) => !state.session || state.session.scopes.includes(scope);
