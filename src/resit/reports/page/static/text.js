// What models write, as it stands: characters that would act (control codes, bidi overrides, half surrogate
// pairs) are shown by name, and text of either direction is kept apart from the page's.
import { el } from "./dom.js";

const ACTING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const NAMES = {
  0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LSEP", 0x2029: "PSEP", 0x202a: "LRE", 0x202b: "RLE",
  0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
  0xad: "SHY", 0x61c: "ALM", 0xfeff: "BOM",
};

/** A text's nodes, with acting characters replaced by their names. */
export function shownText(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(ACTING)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    nodes.push(named(found[0].charCodeAt(0)));
    from = found.index + 1;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

function named(code) {
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const picture = code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : NAMES[code] ?? hex;
  return el("span", { class: "control", title: hex }, picture);
}

/** Offsets in code points, as Python counts, turned into those of JavaScript's UTF-16. */
export function utf16Spans(text, spans) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return spans;
  const wanted = [...new Set(spans.flat())].sort((a, b) => a - b);
  const places = new Map();
  let points = 0;
  let at = 0;
  for (const offset of wanted) {
    while (points < offset && at < text.length) {
      at += text.codePointAt(at) > 0xffff ? 2 : 1;
      points += 1;
    }
    places.set(offset, at);
  }
  return spans.map(([start, end]) => [places.get(start), places.get(end)]);
}
