// The list of questions. Only rows in sight are in the document, so that any number can be scrolled through.
import { el } from "./dom.js";
import { changeOf, meanOf, passing } from "./query.js";
import { shownText } from "./text.js";

const HEIGHT = 76;
const PAGE = 60;

/** A list over `fetchPart(offset, count)`; `open(index)` is called for a row that is chosen. */
export class RowList {
  constructor(box, fetchPart, open) {
    this.box = box;
    this.fetchPart = fetchPart;
    this.open = open;
    this.total = 0;
    this.selected = -1;
    this.parts = new Map();
    this.space = el("div", { class: "space" });
    box.replaceChildren(this.space);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
  }

  /** Show another list from its top; `shape` is what rows are drawn by. */
  async reset(shape) {
    this.shape = shape;
    this.parts.clear();
    this.selected = -1;
    this.box.scrollTop = 0;
    const first = await this.part(0);
    this.total = first.total;
    this.space.style.height = `${this.total * HEIGHT}px`;
    this.draw();
    return first;
  }

  part(number) {
    if (!this.parts.has(number)) this.parts.set(number, this.fetchPart(number * PAGE, PAGE));
    return this.parts.get(number);
  }

  /** The row at a place of the list. */
  async row(index) {
    const part = await this.part(Math.floor(index / PAGE));
    return part.rows[index % PAGE];
  }

  /** Mark a row and bring it into sight. */
  select(index) {
    this.selected = index;
    const top = index * HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + HEIGHT > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + HEIGHT - this.box.clientHeight;
    this.draw();
  }

  async draw() {
    const from = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - 4);
    const to = Math.min(this.total, Math.ceil((this.box.scrollTop + this.box.clientHeight) / HEIGHT) + 4);
    const drawing = (this.drawing = (this.drawing ?? 0) + 1);
    const rows = await Promise.all(Array.from({ length: Math.max(0, to - from) }, (_, i) => this.row(from + i)));
    if (drawing !== this.drawing) return;
    this.space.replaceChildren(...rows.map((row, i) => row && this.entry(row, from + i)).filter(Boolean));
  }

  entry(row, index) {
    const entry = el(
      "div",
      {
        class: "row", role: "option", id: `row-${index}`, "aria-selected": String(index === this.selected),
        "aria-posinset": index + 1, "aria-setsize": this.total, "data-id": row.id, onclick: () => this.open(index),
      },
      rowContent(row, this.shape),
    );
    entry.style.transform = `translateY(${index * HEIGHT}px)`;
    return entry;
  }
}

function rowContent(row, shape) {
  const { query, rule } = shape;
  const runs = [query.run, query.against].filter((run) => run !== null);
  return [
    el("span", { class: "marks" }, runs.map((run) => mark(row.sides[run], rule))),
    el("span", { class: "number" }, `#${row.doc_id}`),
    el("span", { class: "words", dir: "auto" }, shownText(row.question)),
    el("span", { class: "answers" }, runs.map((run) => answer(row.sides[run], rule)), el("span", { class: "gold", title: "reference" }, "ref ", el("bdi", {}, shownText(row.target.slice(0, 24))))),
    el("span", { class: "badges" }, badges(row, query, rule)),
  ];
}

function mark(side, rule) {
  const mean = meanOf(side, rule);
  if (mean === null) return el("span", { class: "mark none", title: "not measured" }, "–");
  if (side.samples === 1) {
    return mean > 0 ? el("span", { class: "mark right", title: "right" }, "✓") : el("span", { class: "mark wrong", title: "wrong" }, "✗");
  }
  return el("span", { class: `mark ${mean > 0.5 ? "right" : "wrong"} share`, title: `${side.right[rule]} of ${side.samples} right` }, `${Math.round(100 * mean)}%`);
}

function answer(side, rule) {
  if (!side || !side.samples) return el("span", { class: "answer quiet" }, "–");
  const text = side.answer[rule];
  return el("span", { class: "answer" }, text === null ? el("i", {}, "unread") : el("bdi", {}, shownText(text.slice(0, 24))));
}

function badges(row, query, rule) {
  const side = row.sides[query.run];
  const found = [];
  const change = changeOf(row, query, rule);
  if (change !== null && Math.abs(change) > 1e-9) found.push(["flip", change > 0 ? "better" : "worse"]);
  if (side?.disagree) found.push(["rules", change === null ? "rules disagree" : "≠ rules"]);
  if (side?.truncated) found.push(["cut", "cut"]);
  if (side?.errored) found.push(["errored", "errored"]);
  if (side && side.samples > 1 && query.show !== "all" && query.show !== "flipped") found.push(["count", `${passing(row, query, rule)} of ${side.samples + side.errored}`]);
  return found.map(([kind, text]) => el("span", { class: `badge ${kind}` }, text));
}
