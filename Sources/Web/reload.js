// Within the page itself: loads the page again where one of its files is missing. Behind one balancer the page may come
// from a server of one version and its files from another, which does not have them.

// The tries, and the time before the first one, ms; each further one waits twice as long.
const TRIES = 5, FIRST = 500;
let isAgain = false;

/// Loads the page again; false: that was tried often enough. The number of tries is kept in the entry of the history,
/// which survives a reload, also in a frame without storage.
window.tesseraReload = () => {
  const tries = history.state?.tries ?? 0;
  if (isAgain || tries >= TRIES) return isAgain;
  isAgain = true;
  history.replaceState({ ...history.state, tries: tries + 1 }, '');
  setTimeout(() => location.reload(), FIRST * 2 ** tries);
  return true;
};
addEventListener('error', ({ target }) => {
  if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) window.tesseraReload();
}, true);
