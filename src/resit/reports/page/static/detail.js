// One question: what was asked, the reference, and what each run answered.
import { el, plural } from "./dom.js";
import { promptView } from "./prompt.js";
import { responseView } from "./spans.js";
import { shownText } from "./text.js";
import { sampleKind, sampleStrip, voteView } from "./votes.js";

/** The detail of a question. `view` says task, run, against, rule (a name), and the repeat chosen for each run. */
export function detailView(detail, summary, view, pick) {
  const task = summary.tasks.find((entry) => entry.name === detail.task);
  const numbers = new Map(task.rules.map((rule, i) => [rule, i + 1]));
  const runs = [view.run, view.against].filter((run) => run !== null && detail.sides[run]);
  const prompts = runs.map((run) => JSON.stringify(detail.sides[run].prompt));
  const alike = prompts.every((prompt) => prompt === prompts[0]);
  return el(
    "article",
    { class: "detail" },
    runs.length && alike ? promptView(detail.sides[runs[0]].prompt) : null,
    referenceView(detail),
    el(
      "div",
      { class: runs.length > 1 ? "sides two" : "sides" },
      runs.map((run) => sideView(detail.sides[run], run, { summary, view, numbers, pick, named: summary.runs.length > 1, prompted: !alike })),
      runs.length ? null : el("p", { class: "quiet" }, "No sample of this question is in this file."),
    ),
  );
}

function referenceView(detail) {
  const [worked, , short] = [detail.target, ...cutAtMark(detail.target)];
  const rest = Object.entries(detail.fields).filter(([, value]) => value !== detail.target);
  return el(
    "section",
    { class: "reference", "aria-label": "Reference" },
    el("h4", {}, "Reference"),
    el("strong", { class: "gold" }, el("bdi", {}, shownText(short))),
    worked !== short
      ? el("details", { class: "fold" }, el("summary", {}, "Worked solution"), el("div", { class: "verbatim", dir: "auto" }, shownText(worked)))
      : null,
    rest.length ? fieldsView(rest) : null,
  );
}

function cutAtMark(target) {
  const place = target.lastIndexOf("####");
  const after = place < 0 ? "" : target.slice(place + 4).trim();
  return after ? [target.slice(0, place), after] : ["", target];
}

function fieldsView(fields) {
  const value = (inner) => (typeof inner === "string" ? inner : JSON.stringify(inner));
  return el(
    "details",
    { class: "fold" },
    el("summary", {}, "Row of the data set"),
    el("dl", { class: "fields" }, fields.flatMap(([key, inner]) => [el("dt", {}, key), el("dd", { class: "verbatim", dir: "auto" }, shownText(value(inner)))])),
  );
}

function sideView(side, run, context) {
  const { summary, view, numbers, pick } = context;
  const samples = side.samples;
  const sample = samples.find((entry) => entry.repeat === view.repeats[run]) ?? samples[0];
  const choose = (repeat) => pick(run, repeat);
  const votes = side.votes[view.rule];
  return el(
    "section",
    { class: "side", "aria-label": summary.runs[run].name },
    context.named ? el("h3", {}, el("span", { class: `dot run${(run % 6) + 1}` }), el("bdi", {}, summary.runs[run].name)) : null,
    context.prompted ? promptView(side.prompt) : null,
    votes ? voteView(votes, samples, sample?.repeat, choose) : null,
    samples.length > 1 ? sampleStrip(samples, view.rule, sample.repeat, choose, votes ? votes.reduce((sum, vote) => sum + vote.count, 0) : 0) : null,
    sample ? sampleView(sample, numbers, view.rule, samples.length > 1) : el("p", { class: "quiet" }, "No sample yet."),
  );
}

function sampleView(sample, numbers, rule, several) {
  const kind = sampleKind(sample, rule);
  const title = several ? `Sample ${sample.repeat}` : "Response";
  const head = el("h4", {}, title, " ", el("span", { class: `tag ${kind}` }, kind));
  if (sample.error !== null) {
    return el("div", { class: "sample" }, head, el("p", { class: "error" }, "Not measured, and not counted as wrong: ", el("bdi", {}, shownText(sample.error))));
  }
  return el(
    "div",
    { class: "sample" },
    head,
    sample.reasoning ? el("details", { class: "fold" }, el("summary", {}, "Reasoning, which is not graded"), el("div", { class: "verbatim", dir: "auto" }, shownText(sample.reasoning))) : null,
    responseView(sample.text, sample.verdicts, numbers),
    el("p", { class: "meta" }, ending(sample)),
    verdictsView(sample.verdicts, numbers, rule),
  );
}

function ending(sample) {
  const parts = [
    sample.truncated ? "cut at the token limit" : { stop: "ended by itself", unknown: "how it ended is unknown" }[sample.finish_reason] ?? sample.finish_reason,
    sample.stop ? `at the stop string ${JSON.stringify(sample.stop)}` : null,
    sample.completion_tokens === null ? null : plural(sample.completion_tokens, "token"),
    sample.seconds === null || sample.seconds < 0.005 ? null : `${sample.seconds.toFixed(2)} s`,
    plural([...sample.text].length, "character"),
  ];
  return parts.filter(Boolean).join(" · ");
}

function verdictsView(verdicts, numbers, rule) {
  return el(
    "table",
    { class: "verdicts" },
    el("thead", {}, el("tr", {}, ["Rule", "Reads", "Verdict", "Why"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, verdicts.map((verdict) => verdictRow(verdict, numbers.get(verdict.rule), verdict.rule === rule))),
  );
}

function verdictRow(verdict, number, chosen) {
  const right = verdict.correct > 0;
  const row = el(
    "tr",
    { class: chosen ? "chosen" : null, "data-rule": verdict.rule },
    el("th", { scope: "row" }, el("span", { class: `key rule${number}` }, String(number)), " ", verdict.rule),
    el("td", { class: "read" }, verdict.extracted === null ? el("i", {}, "nothing") : el("bdi", {}, shownText(verdict.extracted.slice(0, 200)))),
    el("td", {}, el("span", { class: `tag ${right ? "right" : "wrong"}` }, right ? (verdict.correct === 1 ? "right" : verdict.correct.toFixed(2)) : "wrong")),
    el("td", { class: "why" }, shownText(verdict.reason), verdict.extracted !== null && !verdict.span ? " (no single place)" : ""),
  );
  const light = (on) => () => {
    for (const mark of row.closest(".sample").querySelectorAll("mark")) {
      mark.classList.toggle("lit", on && mark.dataset.rules.split("\n").includes(verdict.rule));
    }
  };
  row.addEventListener("mouseenter", light(true));
  row.addEventListener("mouseleave", light(false));
  return row;
}
