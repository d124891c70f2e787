// The page's data out of the page itself: JSON, deflated, in base64.

import { listed } from "./query.js";
function packedText(id) {
  return document.getElementById(id).textContent;
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

class FileSource {
  constructor() {
    this.whole = JSON.parse(packedText("summary"));
    this.blocks = new Map();
    this.listings = new Map();
  }

  summary() {
    return this.whole;
  }

  async chart(id) {
    this.specs ??= JSON.parse(packedText("charts"));
    return this.specs[id];
  }

  index() {
    this.opened ??= inflate(packedText("packed-rows"));
    return this.opened;
  }

  block(number) {
    if (!this.blocks.has(number)) this.blocks.set(number, inflate(packedText(`block-${number}`)));
    return this.blocks.get(number);
  }

  async rows(query, offset, count) {
    const key = JSON.stringify(query);
    if (!this.listings.has(key)) {
      if (this.listings.size > 20) this.listings.clear();
      this.listings.set(key, this.listing(query));
    }
    const { rows, counts } = await this.listings.get(key);
    return { total: rows.length, counts, rows: rows.slice(offset, offset + count) };
  }

  async listing(query) {
    const rows = (await this.index()).rows[query.task] ?? [];
    const rules = this.whole.tasks.find((task) => task.name === query.task).rules;
    const found = query.search ? await this.search(rows, query) : null;
    return listed(rows, query, Math.max(0, rules.indexOf(query.rule)), found);
  }

  async search(rows, query) {
    const { details } = await this.index();
    const wanted = query.search.toLowerCase();
    const numbered = /^#(\d+)$/.exec(wanted);
    const found = new Set();
    for (const row of rows) {
      const detail = row.id in details ? (await this.block(details[row.id]))[row.id] : null;
      if (numbered ? row.doc_id === Number(numbered[1]) : rowTexts(row, detail, query).some((text) => text.toLowerCase().includes(wanted))) found.add(row.id);
    }
    return found;
  }

  async sample(id) {
    const { details, leads, shared } = await this.index();
    if (!(id in details)) return null;
    const detail = structuredClone((await this.block(details[id]))[id]);
    const led = id in leads ? (await this.block(leads[id]))[id] : null;
    detail.sides.forEach((side, run) => {
      if (!side) return;
      const beginning = shared[detail.task][run];
      side.prompt.shared = beginning;
      if (side.prompt.lead === null && led) side.prompt.lead = led[run];
    });
    return detail;
  }
}

function rowTexts(row, detail, query) {
  const own = [row.question, row.target];
  if (!detail) return own;
  const fields = Object.values(detail.fields).filter((value) => typeof value === "string");
  const sides = [query.run, query.against].filter((run) => run !== null).map((run) => detail.sides[run]);
  const texts = sides.flatMap((side) => (side ? side.samples.map((sample) => sample.text) : []));
  return [...own, detail.target, ...fields, ...texts];
}

const source = new FileSource();
