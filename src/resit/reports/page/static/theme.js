// Light, dark, or as the system says.
import { byId } from "./dom.js";

const ORDER = ["auto", "light", "dark"];

/** Let the button turn through the themes; the choice is kept where the browser allows that. */
export function startTheme() {
  const button = byId("theme");
  const set = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", `Theme: ${theme}`);
    button.title = `Theme: ${theme}`;
    button.dataset.theme = theme;
  };
  set(remembered() ?? "auto");
  button.addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(button.dataset.theme) + 1) % ORDER.length];
    set(next);
    try {
      localStorage.setItem("resit-theme", next);
    } catch {
      // a page opened from a file may have no storage
    }
  });
}

function remembered() {
  try {
    const theme = localStorage.getItem("resit-theme");
    return ORDER.includes(theme) ? theme : null;
  } catch {
    return null;
  }
}
