// The state of the page, and requests to the server.

import { complain } from "./elements.js";

/// Lists are newest first. `session` is null while nobody is logged in.
const fresh = () => ({
  session: null, health: { status: "", problems: [] }, runs: [], usage: { machine: {}, principals: [] }, ends: [], egress: [], dropped: 0,
  // Of a cluster: the server whose rows are shown (empty: all), rows of the others, figures by server, use by server and principal.
  node: "", others: { runs: [], ends: [], egress: [] }, machines: {}, principals: [], unreachable: [],
});
export const state = fresh();
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
  return objectOf(await send(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
}

export const tool = (name, values) => ask("POST", `mcp/tools/${name}`, values);

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
