// The keyboard: every key says here what it does, and the help lists these lines.
import { byId, el } from "./dom.js";
import { SHOWS } from "./query.js";

const KEYS = [
  [["j", "ArrowDown"], "next question", (browser) => browser.move(1)],
  [["k", "ArrowUp"], "previous question", (browser) => browser.move(-1)],
  [["n"], "next sample of the question", (browser) => browser.turn(1)],
  [["p"], "previous sample", (browser) => browser.turn(-1)],
  [["Enter"], "open the question", (browser) => browser.open && enter(browser)],
  [["Escape"], "back to the list; out of the search", (browser) => browser.close()],
  [["/"], "search", () => byId("search").focus()],
  [["f"], "next filter", (browser) => nextFilter(browser, 1)],
  [["F"], "previous filter", (browser) => nextFilter(browser, -1)],
  [["?"], "these keys", () => byId("help").showModal()],
];

async function enter(browser) {
  await browser.show(browser.open.index, true);
  byId("detail").focus();
}

function nextFilter(browser, step) {
  const shows = SHOWS.map(([show]) => show).filter((show) => show !== "flipped" || browser.query.against !== null);
  const at = shows.indexOf(browser.query.show);
  browser.change({ show: shows[(at + step + shows.length) % shows.length] });
}

/** Listen to the keyboard, except where somebody types or chooses. */
export function startKeys(browser) {
  byId("keys").replaceChildren(...KEYS.flatMap(([keys, what]) => [el("dt", {}, keys.map((key) => el("kbd", {}, { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" }[key] ?? key))), el("dd", {}, what)]));
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing && event.key === "Escape") typing.blur();
    if (typing && !(typing.id === "search" && ["Enter", "ArrowDown"].includes(event.key))) return;
    if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
    if (event.key.startsWith("Arrow") && !typing && !event.target.closest("#browser")) return;
    if (event.key.startsWith("Arrow") && event.target.closest("#detail")) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    if (typing) {
      typing.blur();
      byId("rows").focus();
    }
    found[2](browser);
  });
}
