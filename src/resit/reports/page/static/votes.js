// A question's vote: every answer with its samples, and every sample as a square.
import { el, plural } from "./dom.js";
import { shownText } from "./text.js";

/** The tally under a rule; `pick(repeat)` shows a sample. */
export function voteView(votes, samples, current, pick) {
  const total = votes.reduce((sum, vote) => sum + vote.count, 0);
  const held = new Set(samples.map((sample) => sample.repeat));
  return el(
    "div",
    { class: "votes" },
    el("h4", {}, `Vote of ${plural(total, "sample")}`),
    el("ol", { class: "tally" }, votes.slice(0, 12).map((vote) => line(vote, total, held, current, pick))),
    votes.length > 12 ? el("p", { class: "quiet" }, `and ${plural(votes.length - 12, "more answer")}`) : null,
  );
}

function line(vote, total, held, current, pick) {
  const first = vote.repeats.find((repeat) => held.has(repeat));
  const answer = vote.answer === null ? el("i", {}, "no answer") : el("bdi", {}, shownText(vote.answer.slice(0, 60)));
  const bar = el("span", { class: "bar" });
  bar.style.width = `${(100 * vote.count) / total}%`;
  return el(
    "li",
    {},
    el(
      "button",
      {
        type: "button",
        class: vote.correct ? "vote right" : "vote wrong",
        "aria-pressed": String(vote.repeats.includes(current)),
        disabled: first === undefined,
        title: first === undefined ? "this file holds no text of it" : `show sample ${first}`,
        onclick: () => pick(first),
      },
      el("span", { class: "mark", "aria-label": vote.correct ? "right" : "wrong" }, vote.correct ? "✓" : "✗"),
      el("span", { class: "answer" }, answer),
      el("span", { class: "track" }, bar),
      el("span", { class: "count" }, String(vote.count)),
    ),
  );
}

/** The samples that are at hand, as squares to choose from. */
export function sampleStrip(samples, rule, current, pick, total) {
  const fewer = samples.length < total ? `${samples.length} of ${total} samples are in this file` : null;
  const strip = squares(samples, rule, current, pick);
  return fewer ? el("div", {}, strip, el("p", { class: "quiet small" }, fewer)) : strip;
}

function squares(samples, rule, current, pick) {
  return el(
    "div",
    { class: "strip", role: "group", "aria-label": "Samples" },
    samples.map((sample) => {
      const kind = sampleKind(sample, rule);
      return el("button", {
        type: "button",
        class: `square ${kind}`,
        "aria-label": `sample ${sample.repeat}, ${kind}`,
        title: `sample ${sample.repeat}: ${kind}`,
        "aria-pressed": String(sample.repeat === current),
        onclick: () => pick(sample.repeat),
      });
    }),
  );
}

/** What became of a sample, in a word. */
export function sampleKind(sample, rule) {
  if (sample.error !== null) return "errored";
  const verdict = sample.verdicts.find((entry) => entry.rule === rule);
  if (!verdict) return "unjudged";
  return verdict.correct > 0 ? "right" : verdict.extracted === null ? "unread" : "wrong";
}
