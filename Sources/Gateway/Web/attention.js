// The title and the icon of the tab: they count who waits, and what was told while the tab was hidden.

let base = '', waiting = 0, missed = 0, icon = null, plain = '';

/// The title without the count.
export function setTitle(text) {
  base = text;
  show();
}

/// So many people wait to be let in.
export function setWaiting(count) {
  waiting = count;
  show();
}

/// Something was told that the user may not see.
export function noteMissed() {
  if (!document.hidden) return;
  missed += 1;
  show();
}

export function bindAttention() {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    missed = 0;
    show();
  });
}

function show() {
  const count = waiting + missed;
  document.title = count ? `(${count}) ${base}` : base;
  showIcon(count > 0);
}

/// The page's icon, with a dot where there is something to look at.
async function showIcon(isMarked) {
  icon ??= document.querySelector('link[rel=icon]');
  plain ||= icon.href;
  const wanted = isMarked ? await marked() : plain;
  // It may have changed while the drawing was fetched.
  if (isMarked === waiting + missed > 0 && icon.href !== wanted) icon.href = wanted;
}

let drawing = null;

function marked() {
  const dot = '<circle cx="24" cy="8" r="8" fill="#e5484d" stroke="#fff" stroke-width="1.5"/></svg>';
  drawing ??= fetch(plain).then(answer => answer.text()).then(svg => `data:image/svg+xml,${encodeURIComponent(svg.replace('</svg>', dot))}`, () => plain);
  return drawing;
}
