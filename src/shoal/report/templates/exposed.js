"use strict";
/* The arithmetic of shoal/registry/answer/exposed.py, in the same order, and the page around it. Nothing is sent or stored. */
const DATA = JSON.parse(document.getElementById("records").textContent);
for (const place of Object.values(DATA.places)) for (const entry of Object.values(place.attributes)) {
  let steps = 0;  // each number is the difference from the one before
  if (Array.isArray(entry.shares)) entry.shares = Object.fromEntries(entry.shares[0].map((answer, i) => [answer, (steps += entry.shares[1][i]) / Math.round(1 / DATA.step)]));
}
const STEP = DATA.step, WIDTHS = {"age/years": 1, "age/5y": 5, "age/10y": 10, "age/20y": 20}, BANDS = [5, 10, 20];
const first = (answer) => { const m = /^\d+/.exec(answer); return m ? parseInt(m[0], 10) : -1; };
const around = (share, terms) => { const half = terms * STEP / 2; return [share, Math.max(0, share - half), Math.min(1, share + half)]; };
const inOrder = (a, b) => first(a) - first(b) || (a < b ? -1 : 1);
const joined = (text, answers, shares) => { let total = 0; for (const a of answers.sort(inOrder)) total += shares[a]; return [text, around(Math.min(1, total), answers.length)]; };
function shareOf(entry, answer) { return entry.shares ? around(entry.shares[answer], 1) : entry.typical; }
function crowdOf(people, shares) {
  let value = people[0], low = 0, high = 1;
  for (const s of shares) { value *= s[0]; low += s[1]; high = Math.min(high, s[2]); }
  const least = people[1] * Math.max(0, low - (shares.length - 1));
  return [Math.max(1, value), Math.max(1, least), Math.max(1, people[2] * high)];
}
function coarserOf(code, shares, answer) {
  if (!shares) return [];
  const all = Object.keys(shares);
  if (code in WIDTHS) {
    const age = first(answer);
    return BANDS.filter((w) => w > WIDTHS[code]).map((w) => {
      const low = Math.floor(age / w) * w;
      return joined(`${low}-${low + w - 1}`, all.filter((a) => low <= first(a) && first(a) < low + w), shares);
    });
  }
  if (code.startsWith("postcode/"))
    return [1, 2].filter((cut) => answer.length > cut).map((cut) => {
      const start = answer.slice(0, answer.length - cut);
      return joined(`${start}…`, all.filter((a) => a.startsWith(start)), shares);
    });
  return [];
}
function exposure(population, answers) {
  const place = DATA.places[population], shares = [], steps = [];
  for (const [code, answer] of answers) {
    const entry = place.attributes[code], share = shareOf(entry, answer);
    const coarser = coarserOf(code, entry.shares, answer).map(([text, s]) => [text, crowdOf(place.people, [...shares, s])]);
    shares.push(share);
    steps.push({code, answer, share, crowd: crowdOf(place.people, shares), coarser});
  }
  let telling = null;
  shares.forEach((s, i) => { if (telling === null || s[0] < shares[telling][0]) telling = i; });
  const known = answers.every(([code]) => place.attributes[code].shares && !place.attributes[code].doubt && !place.attributes[code].unknown);
  return {population, people: place.people, steps, crowd: steps.length ? steps[steps.length - 1].crowd : place.people,
    most_telling: telling === null ? null : steps[telling].code, grade: known && steps.length < 2 ? "B" : "C"};
}
window.shoalExposure = exposure;

const $ = (id) => document.getElementById(id);
const count = (n) => n >= 100 ? Number(n.toPrecision(3)).toLocaleString("en") : String(Math.round(n));
const make = (tag, text, set) => { const e = document.createElement(tag); if (text) e.textContent = text; return Object.assign(e, set || {}); };
const regions = new Intl.DisplayNames(["en"], {type: "region"});
const countryName = (code) => /^[A-Z]{2}$/.test(code) ? regions.of(code) : code;
const spoken = (answer) => ({F: "female", M: "male"})[answer] ?? answer;
const placeName = (p) => p.split("@")[0].split("/").slice(1).join(", ") || countryName(p.split("@")[0]);
let place = "", asked = 0, said = [];

function codesOf(population) {
  const about = DATA.places[population].attributes, best = {};
  for (const code of Object.keys(about)) {
    const name = code.split("/").slice(0, /^(postcode|x|household)\//.test(code) ? 2 : 1).join("/");
    const many = about[code].shares ? Object.keys(about[code].shares).length : 0;
    if (!best[name] || many > best[name][1]) best[name] = [code, many];
  }
  const order = ["sex", "age"], rank = (n) => order.includes(n) ? order.indexOf(n) : order.length;
  return Object.keys(best).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((n) => best[n][0]);
}
function fill() {
  const country = $("country");
  for (const c of [...new Set(Object.keys(DATA.places).map((p) => p.split(/[/@]/)[0]))].sort((a, b) => countryName(a).localeCompare(countryName(b)))) country.append(make("option", countryName(c), {value: c}));
  country.onchange = places;
  $("place").onchange = () => { place = $("place").value; forget(); };
  $("back").onclick = () => { if (asked > 0) { asked -= 1; said = said.slice(0, asked); show(true); } };
  $("next").onclick = () => { if (asked < codesOf(place).length) { keep(); asked += 1; show(true); } };
  $("forget").onclick = forget;
  places();
}
function places() {
  const list = $("place"), here = Object.keys(DATA.places).filter((p) => p.split(/[/@]/)[0] === $("country").value);
  list.replaceChildren(...here.sort((a, b) => (a.includes("/") - b.includes("/")) || a.localeCompare(b)).map((p) =>
    make("option", p.includes("/") ? placeName(p) : `all of ${placeName(p)}`, {value: p})));
  place = list.value;
  forget();
}
function forget() { asked = 0; said = []; show(); }
function chosen() {
  const picked = document.querySelector("#options select, #options input:checked");
  return picked ? picked.value : "";
}
function keep() { said[asked] = chosen() === "" ? null : [codesOf(place)[asked], chosen().slice(1)]; }
const given = () => said.filter((a) => a);
function show(move) {
  const found = exposure(place, given()), n = found.crowd[0], codes = codesOf(place);
  $("crowd").textContent = `${count(n)} ${n < 1.5 ? "person" : "people"}`;
  $("where").textContent = ` in ${placeName(place)}.`;
  const range = found.crowd[1] === found.crowd[2] ? "" : ` Surely between ${count(found.crowd[1])} and ${count(found.crowd[2])}.`;
  $("why").textContent = given().length
    ? `${given().length} ${given().length === 1 ? "answer" : "answers"} brought you here from ${count(found.people[0])}.${range} Grade ${found.grade}.` +
      (found.grade === "C" && given().length > 1 ? " The number takes your answers as independent of each other." : "")
    : "That is everybody there. Answer, and see the crowd shrink.";
  fish(n); stairs(found); question(codes); advice(found);
  $("back").disabled = asked === 0;
  $("next").hidden = asked >= codes.length;
  if (move) $("ask").focus();
}
const SVG = "http://www.w3.org/2000/svg";
function draw(tag, set, text) { const e = document.createElementNS(SVG, tag); for (const k in set) e.setAttribute(k, set[k]); if (text) e.textContent = text; return e; }
function fish(n) {
  const each = Math.max(1, Math.ceil(n / 60)), many = Math.max(1, Math.min(60, Math.round(n / each))), box = $("shoal");
  const rows = Math.ceil(many / 15);
  box.setAttribute("viewBox", `0 0 360 ${rows * 22 + 4}`);
  box.setAttribute("aria-label", `${many} fish, one of them you` + (each > 1 ? `; each is about ${count(each)} people` : ""));
  box.replaceChildren();
  for (let i = 0; i < many; i++) {
    const x = 12 + (i % 15) * 23, y = 13 + Math.floor(i / 15) * 22, you = i === many - 1;
    if (you) box.append(draw("circle", {cx: x, cy: y, r: 10, class: "ring"}));
    box.append(draw("path", {d: `M${x - 8},${y - 4} l4,4 l-4,4 z M${x - 5},${y} q6,-7 13,0 q-7,7 -13,0 z`, class: you ? "you" : "fish"}));
  }
  $("scale").textContent = each > 1 ? `Each fish is about ${count(each)} people; the ringed one is you.` : "One fish each; the ringed one is you.";
}
function stairs(found) {
  const crowds = [found.people, ...found.steps.map((s) => s.crowd)], box = $("stairs"), top = Math.log(found.people[0]);
  const wide = 340 / crowds.length, names = ["everybody", ...found.steps.map((s) => spoken(s.answer) || DATA.places[place].attributes[s.code].label)];
  box.replaceChildren();
  crowds.forEach((c, i) => {
    const h = 100 * Math.log(c[0]) / top, x = 10 + i * wide;
    box.append(draw("rect", {x, y: 130 - h, width: wide, height: h, class: "under"}));
    box.append(draw("line", {x1: x, x2: x + wide, y1: 130 - h, y2: 130 - h, class: "edge"}));
    box.append(draw("text", {x: x + wide / 2, y: 124 - h, class: "figure"}, count(c[0])));
    box.append(draw("text", {x: x + wide / 2, y: 146, class: "name"}, names[i]));
  });
  box.setAttribute("aria-label", "People like you: " + crowds.map((c, i) => `${names[i]} ${count(c[0])}`).join(", "));
}
function question(codes) {
  const box = $("options");
  if (asked >= codes.length) {
    $("ask").textContent = "Those were all questions that the records about this place can answer.";
    $("at").textContent = ""; $("record").textContent = "";
    box.replaceChildren();
    return;
  }
  const code = codes[asked], entry = DATA.places[place].attributes[code], shares = given().map(([c, a]) => shareOf(DATA.places[place].attributes[c], a));
  $("ask").textContent = `Your ${entry.label}?`;
  $("at").textContent = `${asked + 1} of ${codes.length}`;
  $("record").textContent = `${entry.holder}, ${entry.date}.${entry.source ? " Source: " + entry.source + "." : ""}` +
    (entry.doubt ? " They do not agree: the smaller share counts." : "") +
    (entry.unknown ? " Nobody you named vouches for it: grade C." : "") +
    (entry.shares ? "" : " The record does not say who has which answer: a typical answer is taken.");
  const leaves = (a) => count(crowdOf(DATA.places[place].people, [...shares, shareOf(entry, a)])[0]);
  const all = entry.shares ? Object.keys(entry.shares).sort(inOrder) : [""];
  const options = [...all.map((a) => ["=" + a, spoken(a) || "I answer it", `leaves ${leaves(a)}`]), ["", "I would rather not say", `stays ${$("crowd").textContent.split(" ")[0]}`]];
  if (options.length > 9) {
    const list = make("select", "", {id: "choice", onchange: preview});
    list.setAttribute("aria-labelledby", "ask");
    list.append(...options.slice(-1).concat(options.slice(0, -1)).map(([value, text, note]) => make("option", `${text} (${note})`, {value})));
    box.replaceChildren(list);
  } else {
    box.replaceChildren(...options.map(([value, text, note], i) => {
      const line = make("label", "", {className: "option"});
      line.append(make("input", "", {type: "radio", name: "choice", value, checked: i === options.length - 1, onchange: preview}), make("span", text), make("small", note));
      return line;
    }));
  }
}
function preview() {
  const code = codesOf(place)[asked], answers = chosen() === "" ? given() : [...given(), [code, chosen().slice(1)]];
  const found = exposure(place, answers);
  stairs(found); advice(found);
}
function advice(found) {
  const box = $("advice"), lines = [], about = DATA.places[place].attributes;
  if (found.steps.length > 1) lines.push(`Most telling: your ${about[found.most_telling].label}.`);
  for (const step of found.steps)
    for (const [text, crowd] of step.coarser) lines.push(`If you say ${text} instead of ${step.answer}, the crowd after it is about ${count(crowd[0])}, not ${count(step.crowd[0])}.`);
  box.replaceChildren(...lines.map((l) => make("li", l)));
  $("coarser").hidden = lines.length === 0;
}
fill();
