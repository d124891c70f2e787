// Everything starts here; `source` is made by the script before this one.
import { byId } from "./dom.js";
import { Browser } from "./browser.js";
import { startCharts } from "./charts.js";
import { startKeys } from "./keys.js";
import { startTheme } from "./theme.js";

/** Let what stands above the browser lead into it: warnings' examples, counts, the parts of a comparison. */
function startLinks(browser) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-open], [data-list]");
    if (!link) return;
    event.preventDefault();
    if (link.dataset.open) browser.goTo(link.dataset.open, Number(link.dataset.repeat ?? 0));
    else {
      browser.change({ search: "", sort: "order", ...JSON.parse(link.dataset.list) });
      byId("browser").scrollIntoView({ block: "start" });
      byId("rows").focus({ preventScroll: true });
    }
  });
}

async function start() {
  startTheme();
  if (!byId("browser")) return startCharts(source);
  const browser = new Browser(source);
  startKeys(browser);
  startLinks(browser);
  await browser.start();
  source.started?.(browser);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
  startCharts(source); // last: drawing them takes longer than all else
}

start();
