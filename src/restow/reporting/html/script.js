"use strict";
// Adds to a page that is complete without it: sorting, filtering over all of the plan, and each move's line in the picture.
(() => {
  const byId = (id) => document.getElementById(id);
  // Other people's words: what does not print is shown, not obeyed, as in the rest of the page.
  const printable = (text) => text.replace(/[\p{C}\p{Z}]/gu, (each) => (/\s/u.test(each) ? " " : "\ufffd"));
  const safe = (_, value) => (typeof value === "string" ? printable(value) : value);
  const read = (id) => JSON.parse(byId(id)?.textContent ?? "null", safe);
  const plan = read("plan");
  const heat = read("heat");
  const picture = document.querySelector(".picture");
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const count = (number) => number.toLocaleString("en");
  const podName = (pod) => `${pod.namespace}/${pod.name}`;
  // As the page without a script says it: the gain is certain or likely 0.93, the landing node-4 0.38 or one of 7 nodes.
  const figure = (chance) => (chance === 0 || chance === 1 ? `${chance}` : Math.min(Math.max(chance, 0.01), 0.99).toFixed(2));
  const chanceOf = (chance) => figure(Math.min(Math.max(chance, 0.01), 0.99));
  const sureness = (move) => {
    const told = ["likely", "possible"].includes(move.certainty) && move.probability !== null;
    return told ? `${move.certainty} ${figure(move.probability)}` : (move.certainty ?? "-");
  };
  const NAMED = Number(document.querySelector("table.moves")?.dataset.named);
  plan.moves.forEach((move, index) => (move.number = index + 1));
  const isOpen = (move) => move.to !== null && move.steering === null && move.candidateCount > 1;
  const landing = (move) => {
    if (move.to === null) return move.certainty ? "cleared" : "-";
    if (!isOpen(move)) return move.steering ? `${move.to} steered` : move.to;
    const [known, chance] = [move.targetProbability !== null, move.targetProbability ?? 0];
    const named = known ? `${move.to} ${chanceOf(chance)}` : move.to;
    return chance < NAMED ? `one of ${count(move.candidateCount)} nodes (planned: ${named})` : named;
  };
  const owner = (move) => (move.owner ? `${move.owner.kind}/${move.owner.name}` : "-");

  const element = (name, content = "", attributes = {}) => {
    const made = document.createElement(name);
    made.append(...[content].flat());
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const drawn = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // Where nodes are in the picture: bars of the skyline, or cells of the heat map.

  const cards = new Map([...document.querySelectorAll(".node")].map((card) => [card.dataset.name, card]));
  const skylines = [...document.querySelectorAll(".skyline svg[data-resource]")];
  const bars = new Map([...(skylines[0]?.querySelectorAll("g") ?? [])].map((bar) => [bar.dataset.name, bar]));
  const blocks = [...document.querySelectorAll(".heat svg[data-resource]")];
  const orderIn = (block) => heat.blocks[block.dataset.resource][block.dataset.zone];
  const cells = new Map();
  for (const block of blocks.filter((each) => each.dataset.resource === blocks[0].dataset.resource)) {
    orderIn(block).forEach(([node], place) => cells.set(`${heat.names[node]} ${block.dataset.side}`, { block, place }));
  }

  const boxOf = (name, side) => {
    const origin = picture.getBoundingClientRect();
    const within = (box, width, height, column = 0, line = 0) => ({
      x: box.left - origin.left + width * (column + 0.5),
      y: box.top - origin.top + height * (line + 0.5),
      halfWidth: width / 2,
      halfHeight: height / 2,
    });
    const bar = bars.get(name);
    if (bar) {
      const box = bar.querySelector(".room").getBoundingClientRect();
      return within(box, box.width, box.height);
    }
    const cell = cells.get(`${name} ${side}`) ?? cells.get(`${name} 0`);
    if (!cell) return null;
    const box = cell.block.getBoundingClientRect();
    const size = box.width / heat.columns;
    return within(box, size, size, cell.place % heat.columns, Math.floor(cell.place / heat.columns));
  };

  // A point inside the box on the way to the other one: neighbours get a line that can be seen.
  const edge = (box, towards) => {
    const [dx, dy] = [towards.x - box.x, towards.y - box.y];
    const reach = 0.6 * Math.min(box.halfWidth / Math.abs(dx || 1e-9), box.halfHeight / Math.abs(dy || 1e-9), 1);
    return { x: box.x + dx * reach, y: box.y + dy * reach };
  };

  const route = (move) => {
    const [source, target] = [boxOf(move.from, 0), move.to && boxOf(move.to, 1)];
    if (!source || !target || move.from === move.to) return source ? [drawn("circle", { cx: source.x, cy: source.y, r: 4 })] : [];
    const [start, end] = [edge(source, target), edge(target, source)];
    const [dx, dy] = [end.x - start.x, end.y - start.y];
    const inside = (x) => Math.min(Math.max(x, 4), picture.clientWidth - 4);
    const bend = { x: inside((start.x + end.x) / 2 - dy * 0.15), y: (start.y + end.y) / 2 + dx * 0.15 };
    const angle = (Math.atan2(end.y - bend.y, end.x - bend.x) * 180) / Math.PI;
    const d = `M${start.x} ${start.y}Q${bend.x} ${bend.y} ${end.x} ${end.y}`;
    return [
      drawn("path", { d, class: "halo" }),
      drawn("path", { d }),
      drawn("circle", { cx: start.x, cy: start.y, r: 3.5 }),
      drawn("polygon", { points: "0,0 -10,-5 -10,5", transform: `translate(${end.x} ${end.y}) rotate(${angle})` }),
    ];
  };

  const routes = drawn("svg", { class: "routes", "aria-hidden": "true" });
  picture.append(routes);
  let shown = [];
  const show = (moves) => {
    shown = moves;
    routes.replaceChildren(...moves.slice(0, 60).flatMap(route));
    for (const node of document.querySelectorAll(".source, .target")) node.classList.remove("source", "target");
    for (const move of moves) {
      for (const places of [cards, bars]) {
        places.get(move.from)?.classList.add("source");
        places.get(move.to)?.classList.add("target");
      }
    }
  };
  addEventListener("resize", () => show(shown));

  // The skyline with some of the moves made: a pod lies on what stays of its old node, then of its new one.

  const HEIGHT = Number(skylines[0]?.querySelector(".room")?.getAttribute("height"));
  const pieces = skylines.map((skyline) =>
    [...skyline.querySelectorAll("g")].map((bar) => ({
      stays: Number(bar.dataset.stays),
      moving: [...bar.querySelectorAll("[data-move]")].map((piece) => ({
        piece,
        move: Number(piece.dataset.move),
        leaves: piece.classList.contains("leaves"),
        height: Number(piece.getAttribute("height")),
      })),
    })),
  );
  const pile = (bar, made) => {
    let top = bar.stays;
    for (const { piece, move, leaves, height } of bar.moving) {
      const here = leaves ? move >= made : move < made;
      piece.style.display = here ? "inline" : "none";
      if (!here) continue;
      top += height;
      piece.setAttribute("y", HEIGHT - top);
    }
  };
  const slider = byId("made");
  const make = (made) => pieces.flat().forEach((bar) => bar.moving.length && pile(bar, made));
  const play = byId("play");
  let playing = null;
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = null;
    play.textContent = "Play";
  };
  const advance = (start, began) => (now) => {
    const made = Math.min(Math.round(start + ((now - began) / 6000) * plan.moves.length), plan.moves.length);
    slider.value = made;
    make(made);
    playing = made < plan.moves.length ? requestAnimationFrame(advance(start, began)) : null;
    if (!playing) stop();
  };
  slider?.addEventListener("input", () => {
    stop();
    make(Number(slider.value));
  });
  play?.addEventListener("click", () => {
    if (playing) return stop();
    const start = Number(slider.value) < plan.moves.length ? Number(slider.value) : 0;
    play.textContent = "Stop";
    playing = requestAnimationFrame(advance(start, performance.now()));
  });

  // A move whose nodes are out of sight: both side by side at the bottom of the window.

  const peek = element("aside", "", { class: "peek", "aria-hidden": "true", hidden: "" });
  document.body.append(peek);
  const inSight = (move) =>
    [move.from, move.to].every((name) => {
      const card = cards.get(name)?.getBoundingClientRect();
      return !card || (card.top > 0 && card.bottom < innerHeight);
    });
  const copyOf = (name) => {
    const card = cards.get(name)?.cloneNode(true) ?? element("div", element("h3", name), { class: "node" });
    card.removeAttribute("tabindex");
    return element("div", [...card.childNodes], { class: "node" });
  };
  let glanced = null;
  const place = () => (peek.hidden = !glanced || inSight(glanced));
  const glance = (move) => {
    glanced = move;
    show(move ? [move] : []);
    if (move) peek.replaceChildren(copyOf(move.from), element("span", "→"), copyOf(move.to ?? landing(move)));
    place();
  };
  addEventListener("scroll", place, { passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && glance(null));

  // One move at a time.

  let current = -1;
  const said = byId("shown-move");
  const choose = (index) => {
    current = (index + plan.moves.length) % plan.moves.length;
    const move = plan.moves[current];
    const where = move.to ? `${move.from} → ${move.to}, ${sureness(move)}` : `off ${move.from}`;
    said.textContent = `${count(current + 1)} of ${count(plan.moves.length)}: ${podName(move.pod)}, ${where}. ${move.plugin}: ${move.reason}`;
    glance(move);
  };
  byId("previous-move")?.addEventListener("click", () => choose(current < 0 ? -1 : current - 1));
  byId("next-move")?.addEventListener("click", () => choose(current + 1));
  const touching = new Map();
  for (const move of plan.moves) {
    for (const name of new Set([move.from, move.to])) touching.set(name, [...(touching.get(name) ?? []), move]);
  }
  const answers = (name, node) => {
    const moves = touching.get(name);
    if (!moves) return;
    node.setAttribute("tabindex", 0);
    const touched = () => {
      glance(null);
      show(moves);
      said.textContent = `${name}: ${count(moves.filter((move) => move.from === name).length)} leave, ${count(moves.filter((move) => move.to === name).length)} arrive`;
    };
    for (const event of ["pointerenter", "focus", "click"]) node.addEventListener(event, touched);
    for (const event of ["pointerleave", "blur"]) node.addEventListener(event, () => show([]));
  };
  for (const [name, card] of cards) answers(name, card);
  for (const skyline of skylines) for (const bar of skyline.querySelectorAll("g")) answers(bar.dataset.name, bar);
  picture.addEventListener("pointermove", (event) => {
    const block = event.target.closest(".heat svg[data-resource]");
    if (!block || !said) return;
    const box = block.getBoundingClientRect();
    const size = box.width / heat.columns;
    const place = Math.floor((event.clientX - box.left) / size) + heat.columns * Math.floor((event.clientY - box.top) / size);
    const cell = orderIn(block)[place];
    if (!cell) return;
    const { resource, zone } = block.dataset;
    said.textContent = `${heat.names[cell[0]]}, ${zone || "no zone"}: ${resource} ${cell[1]} % → ${cell[2]} %`;
  });

  byId("node-order")?.addEventListener("change", (event) => {
    const orders = {
      name: () => 0,
      load: (one, other) => other.dataset.load - one.dataset.load,
      zone: (one, other) => compare(one.dataset.zone, other.dataset.zone),
    };
    const sorted = [...cards.values()].sort((one, other) => compare(one.dataset.name, other.dataset.name));
    sorted.sort(orders[event.target.value]);
    glance(null);
    document.querySelector(".nodes").append(...sorted);
  });

  // The tables of moves sort and filter all moves, and show a page of them at a time.

  const others = (move) => move.candidates.filter((node) => node !== move.to);
  const candidate = (move, node) => {
    const chance = move.candidates.length > 1 ? move.probabilities[move.candidates.indexOf(node)] : undefined;
    const parts = chance === undefined ? [] : [chanceOf(chance)];
    if (move.inVain.includes(node)) parts.push("in vain");
    return parts.length ? `${node} (${parts.join(", ")})` : node;
  };
  const alternatives = (move) => {
    const named = others(move).slice(0, 3).map((node) => candidate(move, node));
    const unnamed = move.candidateCount - 1 - named.length;
    return element("span", `or ${named.join(", ")}${unnamed > 0 ? ` and ${count(unnamed)} more` : ""}`, { class: "others" });
  };
  const values = {
    "#": (move) => move.number,
    Pod: (move) => podName(move.pod),
    Owner: owner,
    From: (move) => move.from,
    To: (move) => (isOpen(move) ? [landing(move), ...others(move)].join(" ") : landing(move)),
    Gain: sureness,
    Why: (move) => [[move.plugin, move.reason].filter(Boolean).join(": "), move.caveat && `likely at most: ${move.caveat}`].filter(Boolean).join("; "),
  };
  const contents = {
    "#": (move) => {
      const button = element("button", String(move.number), { type: "button", title: "Show in the picture" });
      button.addEventListener("click", () => {
        byId("cluster").scrollIntoView();
        choose(move.number - 1);
      });
      return button;
    },
    To: (move) => (isOpen(move) ? [landing(move), " ", alternatives(move)] : landing(move)),
    Gain: (move) => element("span", sureness(move), { class: move.certainty ?? "" }),
    Why: (move) => [element("b", move.plugin), values.Why(move).slice(move.plugin.length)],
  };
  const moveRow = (heads) => (move) => {
    const content = (head) => (contents[head] ?? values[head])(move);
    const row = element("tr", heads.map((head) => element("td", content(head), { "data-head": head })));
    for (const event of ["pointerenter", "focusin", "click"]) row.addEventListener(event, () => glance(move));
    for (const event of ["pointerleave", "focusout"]) row.addEventListener(event, () => glance(null));
    return row;
  };
  const filter = byId("move-filter");
  const enhance = (table) => {
    const [body, fold, most] = [table.tBodies[0], table.closest("details"), Number(table.dataset.most)];
    const moves = plan.moves.filter((move) => !fold || move.plugin === table.dataset.strategy);
    const cells = [...table.tHead.rows[0].cells];
    const heads = cells.map((cell) => cell.textContent);
    const searched = (move) => heads.slice(1).map((head) => values[head](move)).join(" ").toLowerCase();
    const more = element("button", "", { type: "button", class: "more" });
    table.after(more);
    fold?.querySelector(".left-out")?.remove();
    let [sorted, direction, found, shown] = ["#", 1, moves, most];
    const fill = () => {
      const order = sorted === "#" ? (one, other) => one - other : compare;
      found.sort((one, other) => direction * order(values[sorted](one), values[sorted](other)));
      body.replaceChildren(...found.slice(0, shown).map(moveRow(heads)));
      more.hidden = found.length <= shown;
      more.textContent = `Show ${count(Math.min(most, found.length - shown))} more of ${count(found.length)}`;
    };
    const search = (wanted) => {
      found = moves.filter((move) => !wanted || searched(move).includes(wanted));
      shown = most;
      if (fold) {
        fold.hidden = !found.length;
        fold.open = Boolean(wanted && found.length);
        fold.querySelector(".count").textContent = count(found.length);
      }
      fill();
      return found.length;
    };
    more.addEventListener("click", () => {
      shown += most;
      fill();
    });
    cells.forEach((cell, index) => {
      const button = element("button", heads[index], { type: "button" });
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        direction = cell.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        sorted = heads[index];
        for (const other of cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        fill();
      });
    });
    cells[0].setAttribute("aria-sort", "ascending");
    fill();
    return search;
  };
  const searches = [...document.querySelectorAll("table.moves")].map(enhance);
  filter?.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    const hits = searches.map((search) => search(wanted)).reduce((sum, each) => sum + each, 0);
    byId("move-count").textContent = `${count(hits)} of ${count(plan.moves.length)}`;
  });
  byId("download")?.addEventListener("click", () => {
    const link = element("a", "", { download: "plan.json" });
    link.href = URL.createObjectURL(new Blob([byId("plan").textContent], { type: "application/json" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href));
  });

  // Finding a pod that stays, among all refusals.

  const finder = byId("refusal-filter");
  finder?.addEventListener("input", () => {
    const wanted = finder.value.trim().toLowerCase();
    const texts = (refusal) => [podName(refusal.pod), refusal.node, refusal.plugin, `${refusal.stage}, ${refusal.code}: ${refusal.message}`];
    const others = (refusal) => (refusal.proposal?.alsoStaying ?? []).map(podName);
    const all = (refusal) => [...texts(refusal), ...others(refusal)].join(" ").toLowerCase();
    const found = wanted ? plan.refusals.filter((refusal) => all(refusal).includes(wanted)) : [];
    const rows = found.slice(0, 200).map((refusal) => element("tr", texts(refusal).map((each) => element("td", each))));
    byId("found-refusals").hidden = !found.length;
    byId("found-refusals").tBodies[0].replaceChildren(...rows);
    const more = found.length > rows.length ? `, the first ${rows.length} shown` : "";
    byId("refusal-count").textContent = wanted ? `${count(found.length)} found${more}` : "";
  });

  for (const controls of document.querySelectorAll(".controls")) controls.hidden = false;
})();
