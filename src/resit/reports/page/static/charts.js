// Charts, drawn when they come into sight.

/** Draw each figure's chart once it is near the window. */
export function startCharts(source) {
  const draw = async (figure) => {
    const place = figure.querySelector(".drawing");
    try {
      const spec = await source.chart(figure.dataset.chart);
      await window.vegaEmbed(place, spec, { actions: false, ast: true, renderer: "svg", tooltip: { disableDefaultStyle: true } });
      figure.dataset.state = "drawn";
    } catch (error) {
      figure.dataset.state = "failed";
      figure.querySelector("details").open = true;
      console.error(`chart ${figure.dataset.chart}: ${error.message}`);
    }
  };
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((seen) => seen.isIntersecting)) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "300px" },
  );
  for (const figure of document.querySelectorAll("figure[data-chart]")) watcher.observe(figure);
  window.addEventListener("beforeprint", () => {
    for (const table of document.querySelectorAll("figure[data-chart]:not([data-state]) details")) table.open = true;
  });
}
