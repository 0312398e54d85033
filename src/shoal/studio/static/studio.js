// The studio's scripts: everything here also works without them, by plain forms.
const root = document.documentElement;
root.classList.add("has-script");
const token = () => document.querySelector('meta[name="form-token"]')?.content ?? "";
const toast = document.getElementById("toast");
let fading = 0;

function say(words) {
  toast.textContent = words;
  toast.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => toast.classList.remove("shown"), 8000);
}

// --- the line to the studio: what is lost stays said until it is back, then the page is loaded again --------------------------
const lost = document.getElementById("lost");
const OVER = "Your session is over. Enter again by the link of the studio, then load this page again.";
function connected(words) {
  const back = !words && lost.textContent;
  if (lost.textContent !== words) lost.textContent = words;
  root.classList.toggle("disconnected", Boolean(words));
  if (words) for (const doing of document.querySelectorAll("[data-doing]")) doing.textContent = "not connected";
  if (back) swap(location.href, {}, true);
}
const gone = () => connected("Not connected: the studio does not answer. What you see may be out of date, and changes are not saved. This page tries again by itself.");
// one line to the studio for the page that is looked at: what other windows did, how far a job is; without it, a look now and then
const SILENT = 15000; // milliseconds; the studio says something every 5 seconds
let line = null, heard = 0;
function live() {
  const page = document.getElementById("page");
  const job = document.querySelector("[data-job]")?.dataset.job ?? "";
  const place = page.dataset.live && !document.hidden ? `${page.dataset.live}?job=${job}` : "";
  if (line?.place === place) return;
  line?.source.close();
  line = null;
  if (!place) return;
  line = { place, source: new EventSource(place) };
  heard = Date.now();
  line.source.onmessage = (event) => hear(JSON.parse(event.data));
  line.source.onerror = look;
}
function hear({ state, job }) {
  heard = Date.now();
  connected("");
  const typing = document.activeElement?.matches?.("main input:not([type=radio]), main select, main textarea");
  const box = job && document.querySelector(`[data-job="${job.id}"]`);
  let draw = state !== document.getElementById("page").dataset.state;
  if (box) {
    box.querySelector("[data-doing]").textContent = job.doing;
    box.querySelector("progress").value = job.share;
    draw ||= !job.open || (box.dataset.step !== undefined && job.step !== box.dataset.step);
    if (!draw) box.dataset.step = job.step;
  }
  if (draw && (!typing || (box && !job.open)) && !asked) swap(location.href, {}, true);
}
async function look() { // the line broke, or is silent: is the studio there, and is this still our session?
  line?.source.close();
  const place = line?.place.replace("/live?", "/now?");
  line = null;
  if (!place) return;
  try {
    const answer = await fetch(place, { signal: AbortSignal.timeout(5000) });
    if (answer.status === 401) connected(OVER);
    else if (answer.ok) hear(await answer.json());
    else if (answer.status === 404) swap(location.href, {}, true);
    else gone();
  } catch { gone(); }
  setTimeout(live, 2000);
}
setInterval(() => { if (line && Date.now() - heard > SILENT) look(); }, 1000);
document.addEventListener("visibilitychange", live);
addEventListener("offline", look);

// --- swap: a form is sent, the answer's bar, page and title take the place of ours; focus stays where it was -----------------
let turn = 0;
let asked = 0; // what a person sent and still waits for; pages that come by themselves never overtake it
async function swap(url, options = {}, quietly = false) {
  if (quietly && asked) return;
  const mine = ++turn;
  if (!quietly) { asked += 1; document.body.classList.add("waiting"); }
  let text, answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
    text = await answer.text();
  } catch {
    gone();
    return false;
  } finally {
    if (!quietly) asked -= 1;
    if (!asked) document.body.classList.remove("waiting");
  }
  if (mine !== turn) return;
  const unsent = quietly ? entries() : [];
  const next = new DOMParser().parseFromString(text, "text/html");
  const at = document.activeElement;
  const focus = at?.id;
  const open = [...document.querySelectorAll("details[open][id]")].map((d) => d.id);
  const chosen = [...document.querySelectorAll(".tabbed > :checked")].map((r) => r.id);
  for (const id of ["bar", "page"]) {
    const fresh = next.getElementById(id);
    if (fresh) document.getElementById(id).replaceWith(document.adoptNode(fresh));
  }
  const fresh = next.querySelector('meta[name="form-token"]');
  if (fresh) document.querySelector('meta[name="form-token"]')?.setAttribute("content", fresh.content);
  document.title = next.title;
  if (answer.redirected || (options.method ?? "GET") === "GET") history.replaceState(null, "", answer.url);
  enter(unsent);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  for (const id of chosen) { const tab = document.getElementById(id); if (tab) tab.checked = true; }
  for (const id of open) if (id !== at?.closest?.("details")?.id) document.getElementById(id)?.setAttribute("open", "");
  begin();
}

// what a person ticked, chose or typed and has not sent: a page that comes by itself keeps it
const FIELDS = "#page form:not([data-auto]) :is(input:not([type=hidden], [type=file]), select, textarea)[name]";
const place_of = (field) => `${field.form.getAttribute("action")} ${field.name} ${/^(checkbox|radio)$/.test(field.type) ? field.value : ""}`;
function changed(field) {
  if (/^(checkbox|radio)$/.test(field.type)) return field.checked !== field.defaultChecked;
  if (field.options) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected));
  return field.value !== field.defaultValue;
}
function entries() {
  return [...document.querySelectorAll(FIELDS)].filter(changed).map((f) => ({ place: place_of(f), value: f.value, checked: f.checked }));
}
function enter(unsent) {
  const kept = new Map(unsent.map((one) => [one.place, one]));
  for (const field of kept.size ? document.querySelectorAll(FIELDS) : []) {
    const one = kept.get(place_of(field));
    if (!one) continue;
    if (/^(checkbox|radio)$/.test(field.type)) field.checked = one.checked;
    else field.value = one.value;
  }
}

function send(form, button, only) {
  const data = new FormData(form, button);
  if (form.id === "levels" && only) for (const name of [...data.keys()]) if (/level/.test(name) && ![only, `was.${only}`].includes(name)) data.delete(name);
  const place = button?.getAttribute("formaction") ?? form.action;
  if (form.method === "get") return swap(`${place}?${new URLSearchParams(data)}`);
  const files = form.enctype === "multipart/form-data";
  const sent = swap(place, { method: "POST", body: files ? data : new URLSearchParams(data), headers: { "X-Shoal-Token": token(), "X-Shoal-First": "1" } });
  sent.then((arrived) => { if (arrived === false) form.reset(); }); // what is not saved is not shown
  return sent;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-swap]")) return;
  event.preventDefault();
  send(form, event.submitter);
});
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-auto]");
  if (form) send(form, null, event.target.name);
});

// --- upload: the whole window takes a drop; the file is the body, so that nothing is held in memory --------------------------
function upload([file, ...rest], ids = []) { // one after the other; several tables are looked at together
  const form = document.querySelector("form[data-drop]");
  const bar = form.querySelector("progress");
  bar.hidden = false;
  const request = new XMLHttpRequest();
  request.open("POST", "/tables");
  request.setRequestHeader("X-Shoal-Token", token());
  request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = (e) => { if (e.lengthComputable) bar.value = e.loaded / e.total; };
  request.onload = () => {
    const place = request.getResponseHeader("X-Place");
    if (place) ids.push(place.split("/")[2]);
    const together = form.dataset.drop || (ids.length > 1 ? "/linked?" : "");
    if (place && rest.length) upload(rest, ids);
    else if (place) location.assign(together ? together + ids.map((id) => `&t.${id}=1`).join("") : place);
    else {
      const next = new DOMParser().parseFromString(request.responseText, "text/html");
      document.getElementById("page").replaceWith(document.adoptNode(next.getElementById("page")));
      begin();
    }
  };
  request.onerror = () => { bar.hidden = true; say("The file did not arrive. Is the studio still running?"); };
  request.send(file);
}
document.addEventListener("change", (event) => {
  if (event.target.matches("form[data-drop] input[type=file]") && event.target.files.length) upload(event.target.files);
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const form = document.querySelector("form[data-drop]");
    if (!form || !event.dataTransfer) return;
    event.preventDefault();
    form.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) upload(event.dataTransfer.files);
  });
}

// --- drop boxes: a file that is dropped onto one is chosen and sent, as by its chooser and button ------------------------------
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const box = event.target.closest?.("form[data-takes]");
    if (!box || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    box.classList.toggle("over", kind === "dragover");
    if (kind !== "drop" || !event.dataTransfer.files.length) return;
    box.querySelector("input[type=file]").files = event.dataTransfer.files;
    box.requestSubmit();
  });
}

// --- a page that waits for something looks again by itself --------------------------------------------------------------------
const REST = 250; // milliseconds without a click after which the rest of a page is asked for: it would keep the next click waiting
let looking = 0, resting = 0;
function again() {
  const box = document.querySelector("[data-again]");
  clearTimeout(looking);
  if (box) looking = setTimeout(() => swap(location.href, {}, true), 1000 * Number(box.dataset.again));
}
function reachable() { // what scrolls sideways can be scrolled by keys
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reachable);
function begin() {
  again();
  reachable();
  for (const one of document.querySelectorAll("form[data-drop] input[type=file]")) one.multiple = true;
  clearTimeout(resting);
  if (document.querySelector("[data-more]")) resting = setTimeout(() => swap(location.href, {}, true), REST);
  live();
}

// --- groups: a value is dragged onto a group or onto another value; the same form is sent as without scripts -------------------
let carried = null;
document.addEventListener("dragstart", (event) => { carried = event.target.closest?.("[data-value]"); });
for (const kind of ["dragover", "drop"]) {
  document.addEventListener(kind, (event) => {
    const onto = event.target.closest?.("[data-group], [data-value]");
    if (!carried || !onto || onto === carried) return;
    event.preventDefault();
    if (kind !== "drop") return;
    const form = document.getElementById("together");
    const places = [carried.dataset.value, ...(onto.dataset.value && !onto.closest("[data-group]") ? [onto.dataset.value] : [])];
    const name = onto.closest("[data-group]")?.dataset.group ?? form.elements.name.value.trim();
    carried = null;
    if (!name) {
      for (const place of places) form.elements[`v.${place}`].checked = true;
      say("Give the group a name.");
      form.elements.name.focus();
      return;
    }
    const data = new URLSearchParams({ token: token(), seen: form.elements.seen.value, name });
    for (const place of places) data.set(`v.${place}`, "1");
    swap(form.action, { method: "POST", body: data, headers: { "X-Shoal-Token": token() } });
  });
}

// --- small things: copy, keys of the chips, Esc closes -------------------------------------------------------------------------
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  say("Copied.");
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const chip = event.target.closest?.(".chip");
  if (event.key === "Escape") {
    if (chip?.open) { chip.open = false; chip.querySelector("summary").focus(); return; }
    document.querySelector("[data-close]")?.click();
  }
  if (chip && event.target.matches("summary")) {
    const wanted = chip.querySelector(`[data-key="${event.key.toUpperCase()}"]`);
    if (wanted) { event.preventDefault(); wanted.click(); }
    const chips = [...document.querySelectorAll(".chip summary")];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) chips[(chips.indexOf(event.target) + step + chips.length) % chips.length].focus();
  }
});
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".chip[open]")) for (const other of document.querySelectorAll(".chip[open]")) if (other !== event.target) other.open = false;
}, true);
document.querySelector(".doors [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
begin();
