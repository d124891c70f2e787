// The page's data from `resit view`, and what is on screen kept up to date while a run is in progress.

const CHARTS_EVERY = 10000;

class ServerSource {
  constructor() {
    this.whole = JSON.parse(byId("summary").textContent);
    this.runs = new URLSearchParams(location.search).get("runs") ?? "";
    this.shown = new Map();
  }

  summary() {
    return this.whole;
  }

  async get(path, parameters = {}, signal = undefined) {
    const response = await fetch(`/api/${path}?${new URLSearchParams({ runs: this.runs, ...parameters })}`, { signal });
    const answer = await response.json();
    if (!response.ok) throw new Error([answer.error, answer.hint].filter(Boolean).join(": "));
    return answer;
  }

  async chart(id) {
    const [spec] = await Promise.all([this.get("chart", { id }), this.library()]);
    return spec;
  }

  /** The script that draws charts comes after the page, which needs not wait for it. */
  library() {
    this.loading ??= new Promise((done, fail) => {
      const failed = () => fail(new Error("the chart library does not load"));
      document.head.append(el("script", { type: "module", src: "/static/charts.js", onload: done, onerror: failed }));
    });
    return this.loading;
  }

  async rows(query, offset, count) {
    const key = JSON.stringify(query);
    if (key !== this.asked) {
      this.leaving?.abort(); // what the old query still waits for
      this.leaving = new AbortController();
      this.asked = key;
    }
    const parameters = Object.fromEntries(Object.entries({ ...query, offset, count }).filter(([, value]) => value !== null));
    try {
      const part = await this.get("rows", parameters, this.leaving.signal);
      tell("");
      this.partial = part.searched < 1 || part.read < 1;
      if (this.partial) {
        setTimeout(() => this.searching(part, query)); // after the page has said what there is
        this.soon(part);
      }
      return part;
    } catch (error) {
      if (error.name === "AbortError") return new Promise(() => {}); // nobody waits for it any more
      tell(error.message);
      return { total: 0, counts: Object.fromEntries(SHOWS.map(([show]) => [show, 0])), rows: [] };
    }
  }

  searching(part, query) {
    const words = part.searched < 1 ? `searched ${Math.floor(100 * part.searched)} %` : part.read < 1 ? `read ${Math.floor(100 * part.read)} %` : "";
    if (!words || JSON.stringify(query) !== this.asked) return;
    byId("status").textContent = `${plural(part.total, "question")}${query.search ? " found" : ""}, ${words}…`;
    byId("nothing").textContent = "Nothing yet; still looking…";
  }

  async sample(id) {
    try {
      const detail = await this.get("sample", { id });
      this.shown.clear();
      this.shown.set(id, JSON.stringify(detail));
      return detail;
    } catch (error) {
      tell(error.message);
      return null;
    }
  }

  /** Ask again in a moment for what is not complete. */
  soon(part = { searched: 1 }) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.browser && again(this.browser, this), part.searched < 1 ? 100 : 500);
  }

  /** Called when the page is there: follow the runs as they grow. */
  started(browser) {
    this.browser = browser;
    if (this.partial) this.soon();
  }

  follow() {
    const events = new EventSource(`/api/events?${new URLSearchParams({ runs: this.runs })}`);
    let before = null;
    events.addEventListener("state", async (event) => {
      const state = JSON.parse(event.data);
      tellProgress(state);
      const changed = before !== null && JSON.stringify(before) !== JSON.stringify(state);
      before = state;
      if (changed) await update(this, state);
    });
    events.addEventListener("gone", (event) => {
      tell(JSON.parse(event.data).error);
      tellProgress({ live: false, runs: [] });
      events.close();
    });
    events.onerror = () => tell(events.readyState === EventSource.CLOSED ? "The viewer has stopped." : "The viewer does not answer; waiting for it…");
    events.onopen = () => tell("");
  }
}

/** Say something above everything else; nothing: say no more. */
function tell(text) {
  let place = byId("viewer-says");
  if (!place) {
    place = el("p", { id: "viewer-says", role: "alert", class: "notes" });
    document.querySelector("main").prepend(place);
  }
  place.textContent = text;
  place.hidden = !text;
}

function tellProgress(state) {
  let place = byId("progress");
  if (!place) {
    place = el("div", { id: "progress", role: "status", class: "quiet" });
    document.querySelector("main").prepend(place);
  }
  place.hidden = !state.live;
  place.replaceChildren(
    ...state.runs.map((run) => {
      const done = run.samples + run.errored;
      const bar = el("progress", { max: Math.max(1, run.planned), value: done, "aria-label": "samples" });
      bar.style.cssText = "width: min(320px, 50vw); vertical-align: middle; margin-right: 10px; accent-color: var(--right)";
      const reading = state.read < 1 ? `, ${Math.floor(100 * state.read)} % read` : "";
      const waiting = run.pending ? `, ${run.pending.toLocaleString("en")} to be graded` : "";
      return el("p", {}, bar, `${run.name}: ${done.toLocaleString("en")} of ${plural(run.planned, "sample")}${reading}${waiting}`);
    }),
  );
}

let charted = Date.now();

/** Bring the page up to date with what the run has become. */
async function update(source, state) {
  let top;
  try {
    top = await source.get("top");
  } catch (error) {
    return tell(error.message);
  }
  source.whole = top.summary;
  const fresh = new DOMParser().parseFromString(top.html, "text/html").body;
  const old = [...document.querySelectorAll("main > section.task, main > aside.notes")];
  const keep = state.live && Date.now() - charted < CHARTS_EVERY;
  if (!keep) charted = Date.now();
  for (const figure of fresh.querySelectorAll("figure[data-chart]")) {
    const drawn = document.querySelector(`figure[data-chart="${CSS.escape(figure.dataset.chart)}"]`);
    if (drawn && keep) figure.replaceWith(drawn);
    else if (drawn) figure.querySelector(".drawing").style.minHeight = `${drawn.querySelector(".drawing").offsetHeight}px`;
  }
  const browserAt = byId("browser");
  const before = browserAt?.getBoundingClientRect().top;
  const anchor = browserAt ?? document.querySelector("main > section.identity");
  anchor.before(...fresh.children);
  for (const section of old) section.remove();
  if (browserAt && before < 0) window.scrollBy(0, browserAt.getBoundingClientRect().top - before);
  if (!keep) startCharts(source);
  if (!browserAt && top.summary.tasks.length) location.reload(); // the first samples came
  else if (source.browser) {
    source.browser.summary = top.summary;
    await again(source.browser, source);
  }
}

/** List anew in place: same query, same scroll, same question open. */
async function again(browser, source) {
  const { list, query } = browser;
  const part = await source.rows(query, 0, PAGE);
  if (query !== browser.query) return;
  list.parts.clear();
  list.parts.set(0, Promise.resolve(part));
  list.total = part.total;
  list.space.style.height = `${part.total * HEIGHT}px`;
  await list.draw();
  browser.controls(part.counts);
  byId("status").textContent = `${plural(part.total, "question")}${query.search ? " found" : ""}`;
  byId("nothing").hidden = part.total > 0;
  byId("nothing").textContent = browser.emptyWords();
  source.searching(part, query);
  if (!browser.open) {
    if (part.total && window.matchMedia("(min-width: 900px)").matches) await browser.show(0, false);
    return;
  }
  const { id } = browser.open;
  const known = source.shown.get(id);
  const scrolled = byId("detail").scrollTop;
  const now = await source.sample(id);
  if (browser.open?.id === id && now && JSON.stringify(now) !== known) {
    await browser.render();
    byId("detail").scrollTop = scrolled;
  }
}

const source = new ServerSource();
document.querySelector("header .brand").replaceChildren(el("a", { href: "/" }, "← Runs"));
source.follow();
