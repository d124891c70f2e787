// Elements. Text reaches the page only as text nodes and attributes, never as HTML.

/** An element: `attributes` with `on…` functions as listeners, null ones left out; children are nodes or texts. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** A choice among options, [value, label]; nothing where there is but one. */
export function select(label, options, value, onchange) {
  if (options.length < 2) return null;
  const box = el(
    "select",
    { "aria-label": label, onchange: (event) => onchange(event.target.value) },
    options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text)),
  );
  return el("label", { class: "choice" }, el("span", {}, label), box);
}

export const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
