// A response with the places that the rules read: spans may overlap, so the text is cut wherever one begins or ends.
import { el } from "./dom.js";
import { shownText, utf16Spans } from "./text.js";

const HEAD = 12000;
const TAIL = 4000;
const AROUND = 600;

/** A response as an element: `verdicts` give the spans, `numbers` the number by which a rule is called. */
export function responseView(text, verdicts, numbers) {
  const box = el("div", { class: "response", dir: "auto", tabindex: 0, role: "region", "aria-label": "Response" });
  if (!text) return el("div", { class: "response empty" }, "The response is empty.");
  const placed = verdicts.filter((verdict) => verdict.span);
  const spans = utf16Spans(text, placed.map((verdict) => verdict.span));
  const marked = placed.map((verdict, i) => ({ rule: verdict.rule, start: spans[i][0], end: spans[i][1] }));
  for (const part of visibleParts(text.length, spans)) {
    if (part.hidden) box.append(hiddenPart(text, part, marked, numbers));
    else box.append(...pieces(text, part.start, part.end, marked, numbers));
  }
  return box;
}

/** Which parts of a very long text are shown at once: its head, its tail, and around every span. */
export function visibleParts(length, spans) {
  if (length <= HEAD + TAIL) return [{ start: 0, end: length }];
  const wanted = [[0, HEAD], [length - TAIL, length], ...spans.map(([a, b]) => [Math.max(0, a - AROUND), Math.min(length, b + AROUND)])];
  wanted.sort((a, b) => a[0] - b[0]);
  const parts = [];
  for (const [start, end] of wanted) {
    const last = parts.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else {
      if (last) parts.push({ start: last.end, end: start, hidden: true });
      parts.push({ start, end });
    }
  }
  return parts;
}

function hiddenPart(text, part, marked, numbers) {
  const count = (part.end - part.start).toLocaleString("en");
  const open = () => button.replaceWith(...pieces(text, part.start, part.end, marked, numbers));
  const button = el("button", { type: "button", class: "hidden-part", onclick: open }, `… ${count} more characters`);
  return button;
}

function pieces(text, from, to, marked, numbers) {
  const cuts = new Set([from, to]);
  for (const { start, end } of marked) for (const cut of [start, end]) if (cut > from && cut < to) cuts.add(cut);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(1).flatMap((end, i) => piece(text.slice(places[i], end), places[i], end, marked, numbers));
}

function piece(text, start, end, marked, numbers) {
  const readers = marked.filter((mark) => mark.start < end && mark.end > start);
  if (!readers.length) return shownText(text);
  const closing = readers.filter((mark) => mark.end === end).map((mark) => numbers.get(mark.rule));
  const mark = el(
    "mark",
    {
      "data-rules": readers.map((reader) => reader.rule).join("\n"),
      "data-numbers": closing.join(" "),
      title: `read by ${readers.map((reader) => reader.rule).join(", ")}`,
    },
    shownText(text),
  );
  mark.style.setProperty("--lines", readers.length);
  mark.style.backgroundImage = readers
    .map((reader) => `linear-gradient(var(--rule${numbers.get(reader.rule)}), var(--rule${numbers.get(reader.rule)}))`)
    .join(",");
  mark.style.backgroundPosition = readers.map((_, i) => `0 calc(100% - ${3 * i}px)`).join(",");
  return [mark];
}
