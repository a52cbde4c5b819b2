// The page at /ui: login, one stream of events, panes by the address behind #.

import { badge, byId, complain, element, inPath, setText } from "./elements.js";
import { closeDialog } from "./dialogs.js";
import { audit, health, jobs, sessions, upstream } from "./lists.js";
import { failed, network, now } from "./live.js";
import { inCluster, lookAround, offerNodes, ownRow, servers } from "./nodes.js";
import { overview } from "./overview.js";
import { principals } from "./principals.js";
import { sandboxes } from "./sandboxes.js";
import { secrets } from "./secrets.js";
import { ask, attempt, forgetState, objectOf, reasonOf, send, state } from "./server.js";

// A pane has a `title`, build(…) for its nodes, and where it wants count(), load(), update(), tick() and leave().
const groups = { Work: { overview, now, failed, sandboxes, jobs }, Access: { sessions, network, secrets, principals }, Server: { audit, upstream, health, servers } };
const all = Object.assign({}, ...Object.values(groups));
let panes = all;

const longestList = 200;
const betweenLoads = 2000, hiddenFor = 30_000, beforeRetry = 3000, betweenLooks = 2000, rateOver = 5000;   // milliseconds
const main = byId("main");
let pane = null, stream = null, lost = false;

// ---------------------------------------------------------------- panes
const placeInAddress = () => location.hash.slice(1).split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });

function showTabs(name) {
  const link = (each) => element("a", { href: `#${each}`, "aria-current": each === name ? "page" : null }, panes[each].title, element("b"));
  byId("panes").replaceChildren(...Object.entries(groups).map(([group, own]) => element("div", { class: "group", role: "group", "aria-label": group }, element("span", { "aria-hidden": "true" }, group), Object.keys(own).filter((each) => panes[each]).map(link))));
  byId("panes").hidden = false;
  updateTabs();
  const current = byId("panes").querySelector("[aria-current]");
  byId("panes").scrollLeft = current.offsetLeft - byId("panes").clientWidth / 2;
}

function updateTabs() {
  for (const link of byId("panes").querySelectorAll("a")) {
    const { count } = panes[link.hash.slice(1)], number = count ? count.call(panes[link.hash.slice(1)]) : undefined;
    setText(link.querySelector("b"), number === undefined ? "" : ` ${number.toLocaleString("en")}`);
  }
}

async function showPane() {
  if (!state.session) return;
  panes = Object.fromEntries(Object.entries(all).filter(([name]) => (name !== "servers" || inCluster()) && (name !== "upstream" || state.session.everything)));
  const [wanted, ...rest] = placeInAddress();
  const known = Object.hasOwn(panes, wanted), name = known ? wanted : "overview";
  if (pane && pane.leave) pane.leave();
  pane = panes[name];
  document.title = `${pane.title} · Container-MCP`;
  showTabs(name);
  main.replaceChildren(element("h2", {}, pane.title), ...pane.build(...(known ? rest : [])).filter(Boolean));
  if (pane.update) pane.update();
  const shown = pane;
  main.setAttribute("aria-busy", "true");
  if (pane.load) await attempt(() => pane.load());
  if (pane === shown) main.setAttribute("aria-busy", "false");
}

addEventListener("hashchange", async () => {
  complain("");
  closeDialog();
  const shown = showPane();
  main.focus();
  scrollTo(0, 0);
  await shown;
});

// ---------------------------------------------------------------- the stream
let drawing = false, lastLoad = 0, loading = false;

// A thousand events in a second are one change of the page.
function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (!state.session || !pane) return;
    updateTabs();
    if (pane.update) pane.update();
  });
}

// A change that comes too soon after a load is loaded a moment later.
let later = 0;
async function loadSoon() {
  if (!pane || !pane.load || later) return;
  const wait = loading ? betweenLoads : lastLoad + betweenLoads - Date.now();
  if (wait > 0) { later = setTimeout(() => { later = 0; loadSoon(); }, wait); return; }
  [loading, lastLoad] = [true, Date.now()];
  try { await pane.load(); } catch { /* the stream tells of a server that is gone */ }
  loading = false;
}

let entries = 0;
function remember(list, rows) {
  for (const row of rows) { entries += 1; ownRow(row).key = `${row.at}-${entries}`; }
  list.unshift(...rows.reverse());
  list.length = Math.min(list.length, longestList);
}

const arrivals = [];
function countEnds(number) {
  arrivals.push([Date.now(), number]);
  updateRate();
}

function updateRate() {
  const from = Date.now() - rateOver;
  while (arrivals.length && arrivals[0][0] < from) arrivals.shift();
  state.rate = arrivals.reduce((sum, [, number]) => sum + number, 0) / (rateOver / 1000);
}

// The lists begin anew with each connection; what comes while they are fetched is put on top of them.
async function beginLists(pending) {
  const [{ ends }, { decisions }] = await Promise.all([ask("GET", "admin/ends"), ask("GET", "admin/egress"), ask("GET", "admin/runs"), ask("GET", "admin/usage")]);
  for (const [name, rows] of [["ends", ends], ["egress", decisions]]) {
    const newest = rows.length ? rows[0].at : 0;
    state[name].length = 0;
    remember(state[name], rows.reverse());
    remember(state[name], pending[name].filter((row) => row.at > newest));
  }
  state.dropped = 0;
  drawSoon();
}

let healthShown = "";
function showHealth() {
  const sign = JSON.stringify([lost, state.health, state.unreachable]);
  if (sign === healthShown) return;
  healthShown = sign;
  const well = state.health.status === "ok";
  const badges = [lost ? badge("not connected", "bad") : badge("live", "good"), state.health.status && !well ? element("a", { href: "#health" }, badge("unready", "bad")) : null,
    ...state.unreachable.map((node) => element("a", { href: "#servers" }, badge(`${node} does not answer`, "bad")))];
  byId("health").replaceChildren(...badges.filter(Boolean));
  byId("health").title = state.health.problems.join(" ");
}

function follow() {
  if (stream) stream.close();
  const current = stream = new EventSource("admin/events");
  let pending = { ends: [], egress: [] };
  const on = (name, act) => current.addEventListener(name, (event) => { if (current === stream) { act(JSON.parse(event.data)); drawSoon(); } });
  const grow = (name) => (row) => { if (pending) pending[name].push(row); else remember(state[name], [row]); };
  on("health", (about) => { state.health = about; showHealth(); });
  on("runs", ({ runs }) => { state.runs = runs.map(ownRow); });
  on("usage", (usage) => { state.usage = usage; loadSoon(); });
  on("end", (end) => { countEnds(1); grow("ends")(end); });
  on("egress", grow("egress"));
  on("dropped", ({ count }) => { countEnds(count); state.dropped += count; });
  current.addEventListener("open", async () => {
    if (current !== stream) return;
    const again = lost;
    lost = false;
    showHealth();
    pending = pending || { ends: [], egress: [] };
    if (again && !await attempt(() => refreshSession())) return;
    await attempt(() => beginLists(pending));
    pending = null;
    if (again && pane && pane.load) await attempt(() => pane.load());
  });
  current.addEventListener("error", () => {
    if (current !== stream || !state.session) return;
    lost = true;
    showHealth();
    if (current.readyState === EventSource.CLOSED) { stream = null; setTimeout(() => { if (!stream && state.session) start(); }, beforeRetry); }
  });
}

// The stream is of this server alone. Others are asked through it, one look at a time.
let looking = false;
async function look() {
  if (looking || lost || !stream || !inCluster() || document.hidden) return;
  looking = true;
  try { await lookAround(pane === failed || pane === network); } catch { /* the stream tells of a server that is gone */ }
  looking = false;
  showHealth();
  drawSoon();
  await loadSoon();
}
setInterval(look, betweenLooks);

// A hidden page needs no stream, and a browser has six connections to a server.
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { if (stream) { stream.close(); stream = null; } }, hiddenFor);
  else if (!stream && state.session) { lost = true; start(); }
});

// ---------------------------------------------------------------- login
// Another version of the server has another page.
async function refreshSession() {
  const answer = await send("ui/session");
  if (answer.status === 401) { showLogin(state.session ? reasonOf(answer, await answer.json()) : ""); return false; }
  const session = await objectOf(answer);
  if (!session.logged_in) { showLogin(state.session ? "Your login has ended; log in again." : ""); return false; }
  if (state.session && state.session.version !== session.version) { location.reload(); return false; }
  state.session = session;
  setText(byId("version"), session.version);
  setText(byId("who"), session.named ? `${session.principal}${session.everything ? ", administrator" : ""}` : "");
  byId("leave").hidden = !session.by_cookie;
  offerNodes(showPane);
  return true;
}

async function start() {
  const shown = Boolean(state.session);
  let known = false;
  try { known = await refreshSession(); } catch (problem) {
    lost = true;
    showHealth();
    setTimeout(start, beforeRetry);
    return;
  }
  if (!known) return;
  follow();
  if (!shown) await showPane();
  await look();
}

function forget() {
  if (pane && pane.leave) pane.leave();
  if (stream) stream.close();
  [pane, stream, lost] = [null, null, false];
  forgetState();
  offerNodes(showPane);
  closeDialog();
  byId("panes").hidden = true;
  byId("panes").replaceChildren();
  byId("leave").hidden = true;
  for (const id of ["who", "version"]) byId(id).textContent = "";
  byId("health").replaceChildren();
  healthShown = "";
}

function showLogin(reason) {
  if (!state.session && main.querySelector(".login")) return;
  forget();
  document.title = "Log in · Container-MCP";
  const input = element("input", { id: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "token-hint" });
  const problem = element("p", { class: "bad", role: "alert" }, reason || "");
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      await objectOf(await send("ui/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: input.value.trim() }) }));
      input.value = "";
      main.replaceChildren();
      await start();
    } catch (refusal) { problem.textContent = refusal.message; input.focus(); }
  };
  const open = location.protocol === "http:" && !/^(localhost|127\.|\[::1\])/.test(location.hostname);
  const issuers = element("div", { class: "tools" });
  main.replaceChildren(element("div", { class: "login" }, element("h2", {}, "Log in"), issuers,
    element("form", { onsubmit: submit }, element("label", { for: "token" }, "API key or token"), input,
      element("small", { class: "dim", id: "token-hint" }, "The server keeps it in its memory; the browser gets a cookie that no script can read."), problem,
      element("div", { class: "tools" }, element("button", { class: "main" }, "Log in"))),
    open ? element("p", { class: "warn" }, "This connection is not encrypted: whoever can listen to it learns the key.") : null));
  offerIssuers(issuers);
  input.focus();
}

async function offerIssuers(place) {
  const answer = await send("ui/issuers").catch(() => null);
  const { issuers } = answer && answer.ok ? await answer.json() : { issuers: [] };
  place.replaceChildren(...issuers.map((issuer) => element("a", { class: "button main", href: `ui/oauth?issuer=${inPath(issuer)}` }, `Log in at ${new URL(issuer).host}`)));
}

document.addEventListener("logged-out", (event) => showLogin(event.detail));
byId("leave").addEventListener("click", () => attempt(async () => { await ask("POST", "ui/logout"); showLogin(""); }));
byId("notice-close").addEventListener("click", () => complain(""));
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
setInterval(() => {
  if (!state.session || !pane || document.hidden) return;
  updateRate();
  if (pane.tick) pane.tick();
}, 1000);
start();
