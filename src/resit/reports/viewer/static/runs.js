// The table of runs. What comes from files is only ever set as text.

const PAGE = 100;
const state = { search: "", sort: "name", order: "ascending", rows: [], total: 0, current: -1, ticked: [], asked: 0 };
const at = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A name that may break after its punctuation, and nowhere else. */
function breakable(text) {
  return text.split(/(?<=[_\-./@])/).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));
}

const percent = (value) => (value === null ? "" : `${(100 * value).toFixed(1)} %`);
const key = (row) => `${row.id} ${row.task}`;

function query(offset, count) {
  const { search, sort, order } = state;
  return new URLSearchParams({ search, sort, order, offset, count });
}

async function ask(path, parameters) {
  const response = await fetch(`/api/${path}?${parameters}`);
  const answer = await response.json().catch(() => ({ error: `the viewer answered ${response.status}` }));
  return { ok: response.ok, answer };
}

async function load(keep = true) {
  const asked = (state.asked += 1);
  const count = keep ? Math.max(PAGE, state.rows.length) : PAGE;
  let ok, answer;
  try {
    ({ ok, answer } = await ask("runs", query(0, Math.min(count, 500))));
  } catch {
    return complain("the viewer does not answer: is `resit view` still running?");
  }
  if (asked !== state.asked) return;
  if (!ok) return complain(answer.error);
  show(answer);
}

async function loadMore() {
  const { ok, answer } = await ask("runs", query(state.rows.length, PAGE));
  if (ok) show({ ...answer, rows: [...state.rows, ...answer.rows] });
}

function complain(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

function show(answer) {
  complain("");
  const before = state.rows[state.current];
  state.rows = answer.rows;
  state.total = answer.total;
  if (before) state.current = state.rows.findIndex((row) => key(row) === key(before));
  at("where").textContent = answer.root;
  at("count").textContent = counted(answer);
  at("rows").replaceChildren(...state.rows.map(drawn));
  at("more").hidden = state.rows.length >= state.total;
  at("empty").hidden = state.rows.length > 0;
  at("empty").textContent = answer.looking
    ? "Looking for runs…"
    : state.search
      ? "No run matches."
      : "No runs here yet. `resit run` writes them; this page shows them as they come.";
  for (const header of document.querySelectorAll("th[data-sort]")) {
    const sorted = header.dataset.sort === state.sort;
    if (sorted) header.setAttribute("aria-sort", state.order);
    else header.removeAttribute("aria-sort");
  }
  drawPair();
}

function counted(answer) {
  const shown = answer.rows.length < answer.total ? `${answer.rows.length} of ${answer.total} rows` : `${answer.total} rows`;
  const runs = answer.runs === 1 ? "1 run" : `${answer.runs} runs`;
  const read = answer.read < answer.runs ? `, ${answer.read} read` : "";
  return answer.looking ? `${runs} so far${read}…` : `${runs}${read}; ${shown}`;
}

function drawn(row, place) {
  const ticked = state.ticked.some((other) => key(other) === key(row));
  const label = `${row.name} ${row.task}`;
  const box = element("input", { type: "checkbox", "aria-label": `Tick ${label}`, onchange: () => tick(row) });
  box.checked = ticked;
  const openable = !row.closed;
  const name = element(openable ? "a" : "span", { href: openable ? address([row]) : null }, ...breakable(row.name));
  const made = element(
    "tr",
    { class: place === state.current ? "current" : null, "data-key": key(row) },
    element("td", { class: "tick" }, openable ? box : null),
    element("td", { class: "name" }, name, row.problem ? element("span", { class: "problem" }, row.problem) : null),
    element("td", { class: "task" }, ...breakable(row.task)),
    element("td", { class: "model" }, ...breakable(row.model)),
    element("td", { class: "number score scored" }, percent(row.score)),
    element("td", { class: "number interval" }, row.low === null ? "" : `${(100 * row.low).toFixed(1)}–${(100 * row.high).toFixed(1)}`),
    element("td", {}, ...breakable(row.rule)),
    samples(row),
    element("td", { class: "signs" }, ...signs(row)),
    element("td", { class: "plain" }, row.created.slice(0, 16).replace("T", " ")),
    element("td", {}, element("span", { class: `state ${row.state.replace(" ", "-")}` }, row.state)),
  );
  made.addEventListener("click", (event) => {
    if (!event.target.closest("a, input")) select(place);
  });
  return made;
}

function samples(row) {
  if (!row.task) return element("td", { class: "number" });
  const done = row.samples + row.errored;
  const partial = row.planned > done;
  const bar = partial ? element("progress", { max: row.planned, value: done, "aria-label": "samples done" }) : null;
  return element("td", { class: "number count" }, partial ? `${done} / ${row.planned}` : `${done}`, bar);
}

function signs(row) {
  const counts = [
    [row.unextracted, "unread"],
    [row.truncated, "truncated"],
    [row.errored, "errored"],
    [row.warnings, row.warnings === 1 ? "warning" : "warnings"],
  ];
  return counts.filter(([count]) => count).map(([count, word]) => element("span", {}, `${count} ${word}`));
}

function address(rows) {
  const runs = [...new Set(rows.map((row) => row.id))].join(",");
  const task = rows[0].task ? `#task=${encodeURIComponent(rows[0].task)}` : "";
  return `/report?runs=${runs}${task}`;
}

function tick(row) {
  const place = state.ticked.findIndex((other) => key(other) === key(row));
  if (place >= 0) state.ticked.splice(place, 1);
  else state.ticked = [...state.ticked, row].slice(-2);
  at("outcome").hidden = true;
  for (const made of at("rows").children) {
    const box = made.querySelector("input");
    if (box) box.checked = state.ticked.some((other) => key(other) === made.dataset.key);
  }
  drawPair();
}

function drawPair() {
  const { ticked } = state;
  at("pair").hidden = ticked.length === 0;
  at("ticked").replaceChildren(...ticked.map((row) => element("li", {}, `${row.name}, ${row.task || "no task"}`)));
  for (const id of ["compare", "gap", "swap", "side"]) at(id).disabled = ticked.length !== 2;
  at("gap").textContent = ticked.length === 2 ? `Gap: ${ticked[0].task} seen, ${ticked[1].task} fresh` : "Gap";
}

async function judge(kind) {
  if (state.ticked.length !== 2) return;
  const [first, second] = state.ticked;
  const parameters = new URLSearchParams({
    first: first.id, first_task: first.task, second: second.id, second_task: second.task,
  });
  const outcome = at("outcome");
  outcome.hidden = false;
  outcome.className = "";
  outcome.replaceChildren("…");
  const { ok, answer } = await ask(kind, parameters);
  outcome.className = ok ? "" : "refused";
  const [verdict, lines] = ok ? [answer.verdict, answer.lines] : refusal(answer);
  outcome.replaceChildren(
    element("p", { class: "verdict" }, verdict),
    element("ul", {}, ...lines.map((line) => element("li", {}, line))),
  );
}

/** Why something is refused: what, then each difference, then what to do. */
function refusal({ error, hint }) {
  const place = error.indexOf(": ");
  const differences = place < 0 ? [] : error.slice(place + 2).split("; ");
  return [place < 0 ? error : `${error.slice(0, place)}:`, [...differences, hint].filter(Boolean)];
}

function select(place) {
  if (!state.rows.length) return;
  document.activeElement?.blur(); // Enter is for the row now
  state.current = Math.max(0, Math.min(place, state.rows.length - 1));
  [...at("rows").children].forEach((row, index) => row.classList.toggle("current", index === state.current));
  at("rows").children[state.current].scrollIntoView({ block: "nearest" });
}

function untick() {
  state.ticked = [];
  at("outcome").hidden = true;
  for (const box of document.querySelectorAll("td.tick input")) box.checked = false;
  drawPair();
}

const KEYS = {
  j: () => select(state.current + 1),
  ArrowDown: () => select(state.current + 1),
  k: () => select(state.current - 1),
  ArrowUp: () => select(state.current - 1),
  x: () => state.rows[state.current] && tick(state.rows[state.current]),
  c: () => judge("compare"),
  g: () => judge("gap"),
  s: () => state.ticked.length === 2 && location.assign(address(state.ticked)),
  "/": () => at("search").focus(),
  Enter: () => state.rows[state.current] && location.assign(address([state.rows[state.current]])),
  Escape: () => untick(),
  "?": () => at("help").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("search")) {
    if (event.key === "Escape") {
      at("search").value = "";
      at("search").dispatchEvent(new Event("input"));
      at("search").blur();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      at("search").blur();
      select(0);
      event.preventDefault();
    }
    return;
  }
  if (event.target.closest("button, a") && event.key === "Enter") return;
  const action = KEYS[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

let typing;
at("search").addEventListener("input", () => {
  state.search = at("search").value.trim();
  clearTimeout(typing);
  typing = setTimeout(() => load(false), 120);
});
at("more").addEventListener("click", loadMore);
at("compare").addEventListener("click", () => judge("compare"));
at("gap").addEventListener("click", () => judge("gap"));
at("side").addEventListener("click", () => location.assign(address(state.ticked)));
at("untick").addEventListener("click", untick);
at("swap").addEventListener("click", () => {
  state.ticked.reverse();
  at("outcome").hidden = true;
  drawPair();
});
at("help").addEventListener("click", () => {
  at("keys").hidden = !at("keys").hidden;
  at("help").setAttribute("aria-expanded", String(!at("keys").hidden));
});
for (const header of document.querySelectorAll("th[data-sort]")) {
  const button = element("button", { type: "button" }, header.textContent);
  button.addEventListener("click", () => {
    const { sort } = header.dataset;
    const falls = ["score", "samples", "created"].includes(sort);
    if (state.sort === sort) state.order = state.order === "ascending" ? "descending" : "ascending";
    else state.order = falls ? "descending" : "ascending";
    state.sort = sort;
    load(false);
  });
  header.replaceChildren(button);
}

function dark() {
  return document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
}
at("theme").addEventListener("click", () => {
  const theme = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("resit-theme", theme); } catch { /* not kept, then */ }
});
try {
  const kept = localStorage.getItem("resit-theme");
  if (kept) document.documentElement.dataset.theme = kept;
} catch { /* nothing is kept here */ }

const events = new EventSource("/api/table-events");
events.addEventListener("state", () => load());
events.addEventListener("gone", (event) => {
  complain(JSON.parse(event.data).error);
  events.close();
});
events.onerror = () => complain(events.readyState === EventSource.CLOSED ? "the viewer has stopped" : "");
load();
