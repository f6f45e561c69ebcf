// Theme, tips, copying, and the place in the list of sections.
(function () {
  const root = document.documentElement, button = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  }

  function show() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    button.setAttribute("aria-pressed", String(isDark()));
    document.dispatchEvent(new Event("themechange"));
  }

  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
  prefersDark.addEventListener("change", show);
  show();

  let before;
  addEventListener("beforeprint", () => { // ink is dark and paper is light
    before = root.dataset.theme;
    root.dataset.theme = "light";
    show();
  });
  addEventListener("afterprint", () => {
    if (before) { root.dataset.theme = before; } else { delete root.dataset.theme; }
    show();
  });

  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) { return; }
    tip.textContent = mark.dataset.tip;
    const edges = mark.getBoundingClientRect(), size = tip.getBoundingClientRect();
    const left = Math.min(Math.max(edges.left + edges.width / 2 - size.width / 2, 8), innerWidth - size.width - 8);
    const above = edges.top - size.height - 8;
    tip.style.left = left + "px";
    tip.style.top = (above > 8 ? above : edges.bottom + 8) + "px";
  });
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);

  function copyText(element) {
    const text = element.innerText;
    if (navigator.clipboard && isSecureContext) { return navigator.clipboard.writeText(text); }
    getSelection().selectAllChildren(element); // pages opened from a file in older browsers
    return document.execCommand("copy") ? Promise.resolve() : Promise.reject(new Error("refused"));
  }

  for (const copy of document.querySelectorAll("button.copy")) {
    const words = copy.textContent;
    copy.addEventListener("click", () => {
      copyText(document.getElementById(copy.dataset.copies)).then(
        () => { copy.textContent = "Copied"; },
        () => { copy.textContent = "Select and copy by hand"; },
      ).then(() => setTimeout(() => { copy.textContent = words; }, 2000));
    });
  }

  for (const picker of document.querySelectorAll("select[data-map]")) {
    const map = document.getElementById(picker.dataset.map);
    picker.addEventListener("change", () => {
      map.classList.toggle("chosen", picker.value !== "");
      for (const dot of map.querySelectorAll(".dot")) {
        dot.classList.toggle("picked", dot.classList.contains(picker.value));
      }
    });
  }

  const links = new Map(Array.from(document.querySelectorAll("nav a"), (link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) { continue; }
      for (const link of links.values()) { link.classList.remove("here"); link.removeAttribute("aria-current"); }
      const link = links.get(entry.target.id);
      if (link) { link.classList.add("here"); link.setAttribute("aria-current", "true"); }
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) { watcher.observe(section); }
})();
