"""Charts as Vega-Lite specifications, one file a chart."""
