// The prompt: what is shared and the exemplars folded, the question open.
import { el } from "./dom.js";
import { shownText } from "./text.js";

/** What was asked, to the character. */
export function promptView(prompt) {
  return el(
    "section",
    { class: "prompt", "aria-label": "Prompt" },
    beginning("Every prompt begins with this", prompt.shared),
    prompt.lead === null
      ? el("p", { class: "quiet" }, "The exemplars of this question are not in this file.")
      : beginning("Before this question alone", prompt.lead),
    passage(prompt.own),
  );
}

const SHORT = 240;

/** What stands before the question: folded, unless it is an instruction of a line or two. */
function beginning(title, part) {
  if (!part.length) return null;
  if (typeof part === "string" && part.length <= SHORT) return el("div", { class: "instruction", title }, passage(part));
  const size = Array.isArray(part) ? `${part.length} turns` : `${part.length.toLocaleString("en")} characters`;
  return el("details", { class: "fold" }, el("summary", {}, `${title} `, el("span", { class: "quiet" }, size)), passage(part));
}

function passage(part) {
  if (!Array.isArray(part)) return el("div", { class: "verbatim", dir: "auto" }, shownText(part));
  return el(
    "div",
    { class: "turns" },
    part.map((turn) =>
      el("div", { class: "turn" }, el("span", { class: "role" }, turn.role), el("div", { class: "verbatim", dir: "auto" }, shownText(turn.content))),
    ),
  );
}
