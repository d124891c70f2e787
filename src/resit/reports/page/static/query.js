// Which rows a query lists, and in which order. The words are those of data.py.

export const SHOWS = [
  ["all", "All", "Every question"],
  ["wrong", "Wrong", "A sample is wrong under the rule"],
  ["right", "Right", "A sample is right under the rule"],
  ["disagree", "Rules disagree", "Some rules count a sample as right and others as wrong"],
  ["unextracted", "Unread", "The rule finds no answer in a sample"],
  ["truncated", "Cut", "A sample was cut at the token limit"],
  ["errored", "Errored", "A sample failed and was not measured"],
  ["flipped", "Flipped", "The two runs score the question differently"],
];

export const SORTS = [
  ["order", "Task order"],
  ["change", "Largest change"],
  ["agreement", "Most divided"],
  ["length", "Longest response"],
];

/** A side's mean score under a rule; null where nothing is measured. */
export function meanOf(side, rule) {
  return side && side.samples ? side.right[rule] / side.samples : null;
}

/** How much better the run does on a row than the other; null where either has not measured it. */
export function changeOf(row, query, rule) {
  if (query.against === null) return null;
  const [ours, theirs] = [row.sides[query.run], row.sides[query.against]].map((side) => meanOf(side, rule));
  return ours === null || theirs === null ? null : ours - theirs;
}

/** How many samples of a row's side pass a filter; of `flipped` 1 or 0. */
export function passing(row, query, rule) {
  const side = row.sides[query.run];
  switch (query.show) {
    case "all": return 1;
    case "flipped": return Math.abs(changeOf(row, query, rule) ?? 0) > 1e-9 ? 1 : 0;
    case "wrong": return side ? Math.ceil(side.samples - side.right[rule] - 1e-9) : 0;
    case "right": return side ? Math.ceil(side.right[rule] - 1e-9) : 0;
    case "disagree": return side ? side.disagree : 0;
    case "unextracted": return side ? side.unread[rule] : 0;
    case "truncated": return side ? side.truncated : 0;
    default: return side ? side.errored : 0;
  }
}

/** The rows of a task that a query lists, in its order, and how many each other filter would. */
export function listed(rows, query, rule, found) {
  const searched = found === null ? rows : rows.filter((row) => found.has(row.id));
  const counts = Object.fromEntries(
    SHOWS.map(([show]) => [show, searched.filter((row) => passing(row, { ...query, show }, rule)).length]),
  );
  const shown = searched.filter((row) => passing(row, query, rule));
  return { rows: sorted(shown, query, rule), counts };
}

function sorted(rows, query, rule) {
  const keys = {
    change: (row) => -Math.abs(changeOf(row, query, rule) ?? 0),
    length: (row) => -(row.sides[query.run]?.length ?? 0),
    agreement: (row) => division(row.sides[query.run], rule),
  };
  const key = keys[query.sort];
  if (!key) return rows;
  return rows.map((row) => [key(row), row]).sort((a, b) => a[0] - b[0]).map(([, row]) => row);
}

/** The share of the most frequent answer: the less, the more divided; 2 where nothing is measured. */
function division(side, rule) {
  return side && side.samples ? side.votes[rule] / side.samples : 2;
}
