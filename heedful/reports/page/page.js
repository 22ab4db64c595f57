"use strict";
(() => {
  const finder = document.getElementById("finder");
  if (!finder) return;
  const form = document.getElementById("filters");
  const place = document.getElementById("cards");
  const hits = document.getElementById("hits");
  const more = document.getElementById("more");
  const cards = [...place.children];
  const facets = new Map(cards.map((card) => [card, JSON.parse(card.dataset.facets)]));
  const texts = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  const STEP = 6;
  const MOST_OPTIONS = 200;
  const moved = (card, none) => Math.abs(Number(card.dataset.moved ?? none));
  const ORDERS = {
    "findings first": null,
    "probability moved most": (a, b) => moved(b, 0) - moved(a, 0),
    "probability moved least": (a, b) => moved(a, 2) - moved(b, 2),
  };
  let shown = STEP;

  function labelled(text, control) {
    control.id = `filter-${text.replaceAll(" ", "-")}`;
    const label = document.createElement("label");
    label.append(text);
    label.htmlFor = control.id;
    const box = document.createElement("div");
    box.append(label, control);
    form.append(box);
    return control;
  }

  function select(text, options) {
    const control = document.createElement("select");
    for (const [name, value] of options) control.append(new Option(name, value));
    return labelled(text, control);
  }

  const filters = [];
  for (const name of new Set([...facets.values()].flatMap(Object.keys))) {
    const counts = new Map();
    for (const of of facets.values()) {
      for (const value of of[name] ?? []) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    if (counts.size < 2 || counts.size > MOST_OPTIONS) continue;
    const values = [...counts.keys()].sort();
    const options = values.map((value, k) => [`${value} (${counts.get(value)})`, k]);
    filters.push([name, values, select(name, [["all", ""], ...options])]);
  }
  const order = select("order", Object.keys(ORDERS).map((name) => [name, name]));
  const search = labelled("search in texts and ids", document.createElement("input"));
  search.type = "search";
  search.autocomplete = "off";

  function found() {
    const sought = search.value.trim().toLowerCase();
    const active = filters.filter(([, , control]) => control.value !== "");
    const matches = cards.filter((card) => {
      if (!texts.get(card).includes(sought)) return false;
      return active.every(([name, values, control]) => (facets.get(card)[name] ?? []).includes(values[control.value]));
    });
    const compare = ORDERS[order.value];
    return compare ? matches.sort(compare) : matches;
  }

  function show() {
    const matches = found();
    hits.textContent = `${matches.length} of ${cards.length} match; ${Math.min(shown, matches.length)} are shown.`;
    place.replaceChildren(...matches.slice(0, shown));
    more.hidden = matches.length <= shown;
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    shown = STEP;
    show();
  });
  more.addEventListener("click", () => {
    const next = shown;
    shown += STEP;
    show();
    const first = place.children[next];
    if (first) {
      first.tabIndex = -1;
      first.focus();
    }
  });
  finder.hidden = false;
  show();
})();
