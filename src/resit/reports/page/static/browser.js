// The sample browser: its query, its list, the question that is open. The address keeps all of it.
import { byId, el, plural, select } from "./dom.js";
import { detailView } from "./detail.js";
import { RowList } from "./list.js";
import { SHOWS, SORTS } from "./query.js";

export class Browser {
  constructor(source) {
    this.source = source;
    this.summary = source.summary();
    this.query = this.firstQuery();
    this.repeats = {};
    this.open = null;
    this.list = new RowList(byId("rows"), (offset, count) => source.rows(this.query, offset, count), (index) => this.show(index, true));
    byId("search").addEventListener("input", () => this.typed());
    byId("close").addEventListener("click", () => this.close());
    byId("previous").addEventListener("click", () => this.move(-1));
    byId("next").addEventListener("click", () => this.move(1));
    window.addEventListener("hashchange", () => this.fromAddress());
  }

  firstQuery(name = null) {
    const task = this.summary.tasks.find((entry) => entry.name === name) ?? this.summary.tasks[0];
    const runs = task.standings.map((standing) => standing.run);
    const against = runs.length > 1 ? runs[1] : null;
    const paired = against !== null;
    return { task: task.name, run: runs[0] ?? 0, against, rule: task.quoted, show: paired ? "flipped" : "all", search: "", sort: paired ? "change" : "order" };
  }

  get task() {
    return this.summary.tasks.find((entry) => entry.name === this.query.task);
  }

  /** Begin with what the address says, or else with everything. */
  async start() {
    if (!(await this.fromAddress())) await this.refresh();
  }

  /** Change the query and list anew. */
  async change(changes) {
    if (changes.task !== undefined && changes.task !== this.query.task) {
      this.query = { ...this.firstQuery(changes.task), ...changes };
    } else this.query = { ...this.query, ...changes };
    if (this.query.against === this.query.run) this.query.against = null;
    if (this.query.against === null && this.query.show === "flipped") this.query.show = "all";
    this.close(false);
    await this.refresh();
  }

  async refresh() {
    const asked = (this.asked = (this.asked ?? 0) + 1);
    const rule = Math.max(0, this.task.rules.indexOf(this.query.rule));
    const part = await this.list.reset({ query: this.query, rule });
    if (asked !== this.asked) return;
    this.controls(part.counts);
    byId("status").textContent = `${plural(part.total, "question")}${this.query.search ? " found" : ""}`;
    byId("nothing").hidden = part.total > 0;
    byId("nothing").textContent = this.emptyWords();
    if (byId("search").value !== this.query.search) byId("search").value = this.query.search;
    this.toAddress();
    if (part.total && !this.open && window.matchMedia("(min-width: 900px)").matches) await this.show(0, false);
    else if (!part.total) byId("detail").replaceChildren();
  }

  emptyWords() {
    if (this.query.search) return "No question or response contains that.";
    const words = {
      all: "No sample is scored yet.", wrong: "Nothing is wrong: this rule counts every sample as right.", right: "No sample is right under this rule.",
      disagree: "The rules agree on every sample.", unextracted: "The rule finds an answer in every sample.", truncated: "No sample was cut.",
      errored: "No sample errored.", flipped: "The two runs score every question alike.",
    };
    return words[this.query.show];
  }

  controls(counts) {
    const { summary, query, task } = this;
    const runs = task.standings.map((standing) => [standing.run, summary.runs[standing.run].name]);
    const number = (value) => (value === "" ? null : Number(value));
    byId("choices").replaceChildren(
      ...[
        select("Task", summary.tasks.map((entry) => [entry.name, entry.name]), query.task, (value) => this.change({ task: value })),
        select("Run", runs, query.run, (value) => this.change({ run: number(value) })),
        runs.length > 1
          ? select("Against", [["", "nothing"], ...runs.filter(([run]) => run !== query.run)], query.against ?? "", (value) => this.change({ against: number(value), show: value === "" ? "all" : "flipped" }))
          : null,
        select("Rule", task.rules.map((rule) => [rule, rule]), query.rule, (value) => this.change({ rule: value })),
        select("Sort", SORTS.filter(([sort]) => (sort !== "change" || query.against !== null) && (sort !== "agreement" || task.repeats > 1)), query.sort, (value) => this.change({ sort: value })),
      ].filter(Boolean),
    );
    byId("filters").replaceChildren(
      ...SHOWS.filter(([show]) => show !== "flipped" || query.against !== null).map(([show, label, title]) =>
        el("button", { type: "button", class: `filter ${show}`, title, "aria-pressed": String(query.show === show), "data-show": show, onclick: () => this.change({ show }) }, label, " ", el("b", {}, counts[show].toLocaleString("en"))),
      ),
    );
  }

  typed() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.change({ search: byId("search").value.trim() }), 150);
  }

  /** Open the question at a place of the list; `aside` also turns to it where list and question share one column. */
  async show(index, aside) {
    const row = await this.list.row(index);
    if (!row) return;
    this.list.select(index);
    byId("rows").setAttribute("aria-activedescendant", `row-${index}`);
    if (this.open?.id !== row.id) this.repeats = {};
    this.open = { id: row.id, index };
    if (aside) byId("browser").classList.add("reading");
    await this.render();
    byId("detail").scrollTop = 0;
    this.toAddress();
  }

  async render() {
    const { open } = this;
    const detail = await this.source.sample(open.id);
    if (this.open?.id !== open.id) return;
    byId("position").textContent = `#${open.id.slice(open.id.lastIndexOf("/") + 1)} · ${open.index + 1} of ${this.list.total}`;
    const view = { run: this.query.run, against: this.query.against, rule: this.query.rule, repeats: this.repeats };
    const pick = (run, repeat) => {
      this.repeats[run] = repeat;
      this.render();
    };
    byId("detail").replaceChildren(detail ? detailView(detail, this.summary, view, pick) : el("p", { class: "quiet" }, "The texts of this question are not in this file."));
    this.detail = detail;
    byId("pane").hidden = false;
  }

  /** Go to the next or previous question of the list. */
  async move(step) {
    if (!this.list.total) return;
    const from = this.list.selected < 0 ? (step > 0 ? -1 : 0) : this.list.selected;
    await this.show(Math.min(this.list.total - 1, Math.max(0, from + step)), byId("browser").classList.contains("reading"));
  }

  /** Show the next or previous sample of the open question, in every run that has several. */
  turn(step) {
    for (const [run, side] of Object.entries(this.detail?.sides ?? {})) {
      if (!side || side.samples.length < 2) continue;
      const order = side.samples.map((sample) => sample.repeat);
      const at = Math.max(0, order.indexOf(this.repeats[run] ?? order[0]));
      this.repeats[run] = order[(at + step + order.length) % order.length];
    }
    if (this.open) this.render();
  }

  /** Back to the list. */
  close(redraw = true) {
    byId("browser").classList.remove("reading");
    this.open = null;
    this.detail = null;
    if (redraw) {
      byId("rows").focus();
      this.toAddress();
    }
  }

  /** Open a question by its id, whatever is listed. */
  async goTo(id, repeat = null) {
    const task = id.slice(0, id.lastIndexOf("/"));
    if (task !== this.query.task || this.query.show !== "all" || this.query.search) await this.change({ task, show: "all", search: "", sort: "order" });
    const index = await this.find(id);
    if (index < 0) return;
    await this.show(index, true);
    if (repeat !== null) {
      this.repeats[this.query.run] = repeat;
      await this.render();
    }
    byId("browser").scrollIntoView({ block: "start" });
  }

  async find(id) {
    for (let index = 0; index < this.list.total; index += 1) if ((await this.list.row(index))?.id === id) return index;
    return -1;
  }

  toAddress() {
    const first = this.firstQuery(this.query.task);
    const kept = Object.entries(this.query).filter(([key, value]) => value !== first[key] && value !== null);
    const words = new URLSearchParams(kept.map(([key, value]) => [key, String(value)]));
    if (this.query.task !== this.summary.tasks[0].name) words.set("task", this.query.task);
    if (this.open && byId("browser").classList.contains("reading")) words.set("id", this.open.id);
    this.address = words.toString() ? `#${words}` : "";
    if (location.hash !== this.address) history.replaceState(null, "", this.address || location.pathname + location.search);
  }

  async fromAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (location.hash === this.address || ![...words.keys()].some((key) => key in this.query || key === "id")) return false;
    const changes = {};
    for (const key of ["task", "rule", "show", "search", "sort"]) if (words.has(key)) changes[key] = words.get(key);
    for (const key of ["run", "against"]) if (words.has(key)) changes[key] = Number(words.get(key));
    await this.change(changes);
    if (words.has("id")) {
      const index = await this.find(words.get("id"));
      if (index >= 0) await this.show(index, true);
    }
    return true;
  }
}
