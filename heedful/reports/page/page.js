"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  if (!form || !data.examples.length) return;
  const cards = document.getElementById("cards");
  const hits = document.getElementById("hits");
  const more = document.getElementById("more");
  const STEP = 20;
  let shown = STEP;

  // All that comes from data goes through text nodes: nothing of it is read as markup.
  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const child of children) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }

  const isolated = (text) => make("bdi", "", String(text));
  const words = (text) => text.replaceAll("_", " ");
  const percent = (p) => (p === null ? null : make("small", "", ` (${Math.round(100 * p)} %)`));

  function outcome(example) {
    if (example.y2 === null) {
      if (example.gold === null) return "as it is";
      return example.changed ? "wrong" : "right";
    }
    return example.changed ? "prediction changed" : "prediction kept";
  }

  const FILTERS = [
    ["run", "run", (e) => [data.names[e.run]]],
    ["evaluation", "evaluation", (e) => [words(e.evaluation)]],
    ["change", "part", (e) => [e.part || "(unchanged)"]],
    ["gold", "gold label", (e) => (e.gold === null ? [] : [e.gold])],
    ["y", "prediction before", (e) => [e.y]],
    ["y2", "prediction after", (e) => (e.y2 === null ? [] : [e.y2])],
    ["outcome", "outcome", (e) => [outcome(e)]],
    ["slice", "slice", (e) => e.slices],
  ];
  const ORDERS = {
    "as chosen": null,
    "probability moved most": (a, b) => Math.abs(b.moved ?? 0) - Math.abs(a.moved ?? 0),
    "probability moved least": (a, b) => Math.abs(a.moved ?? 2) - Math.abs(b.moved ?? 2),
  };
  const MOST_OPTIONS = 200;

  function labelled(name, text, control) {
    control.id = `filter-${name}`;
    control.name = name;
    const label = make("label", "", text);
    label.htmlFor = control.id;
    form.append(make("div", "", label, control));
    return control;
  }

  function option(text, value) {
    const node = make("option", "", text);
    node.value = value;
    return node;
  }

  const selects = [];
  for (const [name, text, values] of FILTERS) {
    const counts = new Map();
    for (const example of data.examples) {
      for (const value of values(example)) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    if (counts.size < 2 || counts.size > MOST_OPTIONS) continue;
    const select = labelled(name, text, make("select", "", option("all", "")));
    const names = [...counts.keys()].sort();
    names.forEach((value, k) => select.append(option(`${value} (${counts.get(value)})`, String(k + 1))));
    selects.push([select, names, values]);
  }
  const order = labelled("order", "order", make("select", "", ...Object.keys(ORDERS).map((o) => option(o, o))));
  const search = labelled("search", "search in texts and ids", make("input", ""));
  search.type = "search";
  search.autocomplete = "off";

  function plain(content) {
    if (content === null) return "";
    if (typeof content === "string") return content;
    if (Array.isArray(content)) return content.map(([text]) => text).join("");
    if (content.rows) return [content.title, ...content.rows.map((row) => `${row[0]} ${row[1]}`)].join(" ");
    return "";
  }

  const haystacks = data.examples.map((e) =>
    [e.uid, e.partner, ...e.parts.flatMap((p) => [plain(p.before), plain(p.after)])].join(" ").toLowerCase(),
  );

  function chosen() {
    const sought = search.value.trim().toLowerCase();
    const active = selects.filter(([select]) => select.value !== "");
    const found = data.examples.filter((example, k) => {
      if (sought && !haystacks[k].includes(sought)) return false;
      return active.every(([select, names, values]) => values(example).includes(names[Number(select.value) - 1]));
    });
    const compare = ORDERS[order.value];
    return compare ? found.sort(compare) : found;
  }

  function tabular(content) {
    const caption = make("caption", content.titled ? "changed" : "", isolated(content.title));
    const body = make("tbody", "");
    for (const [key, value, mark] of content.rows) {
      const head = make("th", "", isolated(key));
      head.scope = "row";
      const note = mark ? make("small", "", ` (${mark})`) : null;
      body.append(make("tr", mark || "", head, make("td", "", isolated(value), note)));
    }
    return make("table", "", caption, body);
  }

  function side(content, when) {
    const box = make("div", `side ${when}`);
    box.dir = "auto";
    if (content === null || content === "") box.append(make("em", "", "(empty)"));
    else if (typeof content === "string") box.append(content);
    else if (Array.isArray(content)) {
      for (const [text, isMarked] of content) box.append(isMarked ? make("mark", "", text) : text);
    } else if (content.rows) box.append(tabular(content));
    else if (content.picture) {
      const picture = make("img", "");
      picture.alt = "picture";
      picture.src = content.picture;
      box.append(picture);
    }
    return make("div", "", when ? make("small", "", when) : null, box);
  }

  function partOf(part) {
    const heading = make("h4", "", isolated(part.name));
    const after = part.changed ? side(part.after, "after") : null;
    const sides = make("div", "sides", side(part.before, part.changed ? "before" : ""), after);
    return make("div", part.changed ? "part differs" : "part", heading, sides);
  }

  function card(example) {
    const run = data.names.length > 1 ? `, ${data.names[example.run]}` : "";
    const about = make("small", "", ` ${words(example.evaluation)}`, isolated(run));
    const answers = make("p", "answers");
    if (example.gold !== null) answers.append("gold label: ", make("b", "", isolated(example.gold)), " · ");
    answers.append("predicted: ", make("b", "", isolated(example.y)));
    if (example.p !== null) answers.append(percent(example.p));
    if (example.y2 !== null) answers.append(" → ", make("b", "", isolated(example.y2)));
    answers.append(" ", make("span", "badge", outcome(example)));
    if (example.moved !== null) {
      const moved = Math.round(1000 * example.moved) / 10 || 0; // of -0 as well
      const points = `${moved > 0 ? "+" : ""}${moved.toFixed(1)}`;
      answers.append(make("small", "", ` probability of the first prediction: ${points} points`));
    }
    if (example.unread) answers.append(make("small", "", " · the change never reaches the model"));
    const uid = make("p", "uid", isolated(example.uid));
    if (example.partner) uid.append(", with ", isolated(example.partner));
    const missing = example.missing ? make("p", "missing", example.missing) : null;
    const heading = make("h3", "", isolated(example.change), about);
    return make("article", "card", heading, answers, ...example.parts.map(partOf), missing, uid);
  }

  function show() {
    const found = chosen();
    hits.textContent = `${found.length} of ${data.examples.length} match; ${Math.min(shown, found.length)} are shown.`;
    cards.replaceChildren(...found.slice(0, shown).map(card));
    more.hidden = found.length <= shown;
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
    const first = cards.children[next];
    if (first) {
      first.tabIndex = -1;
      first.focus();
    }
  });
  form.hidden = false;
  show();
})();
