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
function showIcon(isMarked) {
  icon ??= document.querySelector('link[rel=icon]');
  plain ||= icon.href;
  const wanted = isMarked ? marked() : plain;
  if (icon.href !== wanted) icon.href = wanted;
}

/// The page has its icon in itself (bundle_page.py).
function marked() {
  const dot = '<circle cx="24" cy="8" r="8" fill="#e5484d" stroke="#fff" stroke-width="1.5"/></svg>';
  const svg = decodeURIComponent(plain.slice(plain.indexOf(',') + 1));
  return `data:image/svg+xml,${encodeURIComponent(svg.replace('</svg>', dot))}`;
}
