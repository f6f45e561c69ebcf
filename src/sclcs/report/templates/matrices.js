// Matrices: 16-bit steps in the page become pixels, coloured by the theme.
(function () {
  const MISSING = -32768, STEPS = 254;
  const drawn = [];

  function theme(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);
  }

  function mix(from, to, share) {
    return from.map((value, place) => value + (to[place] - value) * share);
  }

  function read(box) {
    const facts = JSON.parse(box.querySelector("script").textContent);
    const bytes = Uint8Array.from(atob(facts.values), (sign) => sign.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    facts.at = (row, column) => {
      const level = view.getInt16(2 * (row * facts.size + column), true);
      return level === MISSING ? NaN : level * facts.step;
    };
    return facts;
  }

  function colours(facts) { // from low to high, in steps; hundreds of regions are many pixels
    const low = theme("--heat-low"), middle = theme("--heat-mid"), high = theme("--heat-high");
    return Array.from({ length: STEPS + 1 }, (_, step) => {
      const share = step / STEPS;
      const mixed = !facts.signed ? mix(middle, low, share)
        : share < 0.5 ? mix(low, middle, 2 * share) : mix(middle, high, 2 * share - 1);
      return mixed.map(Math.round);
    });
  }

  function paint(canvas, facts) {
    const table = colours(facts), none = theme("--heat-none"), span = facts.high - facts.low;
    const context = canvas.getContext("2d"), image = context.createImageData(facts.size, facts.size);
    for (let row = 0, place = 0; row < facts.size; row += 1) {
      for (let column = 0; column < facts.size; column += 1, place += 4) {
        const share = (facts.at(row, column) - facts.low) / span;
        const colour = Number.isNaN(share) ? none : table[Math.round(STEPS * Math.min(Math.max(share, 0), 1))];
        image.data[place] = colour[0];
        image.data[place + 1] = colour[1];
        image.data[place + 2] = colour[2];
        image.data[place + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  function write(value) {
    if (Number.isNaN(value)) { return "no value"; }
    const text = Math.abs(value) >= 0.001 || value === 0 ? value.toFixed(3) : value.toExponential(2);
    return text.replace("-", "−");
  }

  for (const box of document.querySelectorAll("[data-matrix]")) {
    const facts = read(box), canvas = box.querySelector("canvas"), said = box.querySelector(".matrix-said");
    let row = 0, column = 0;
    const say = () => {
      said.textContent = facts.regions[row] + " → " + facts.regions[column] + ": " + write(facts.at(row, column));
    };
    canvas.addEventListener("pointermove", (event) => {
      const edges = canvas.getBoundingClientRect();
      const inside = (share) => Math.min(Math.max(Math.floor(share * facts.size), 0), facts.size - 1);
      row = inside((event.clientY - edges.top) / edges.height);
      column = inside((event.clientX - edges.left) / edges.width);
      say();
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) { return; }
      event.preventDefault();
      row = Math.min(Math.max(row + step[0], 0), facts.size - 1);
      column = Math.min(Math.max(column + step[1], 0), facts.size - 1);
      say();
    });
    drawn.push([canvas, facts]);
  }

  const paintAll = () => { for (const [canvas, facts] of drawn) { paint(canvas, facts); } };
  document.addEventListener("themechange", paintAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
  paintAll();
})();
