// Which buttons of the bar a page in a frame shows: `?buttons=audio,video,leave`.

/// Without a choice.
const DEFAULT = ['audio', 'video', 'screen', 'hand', 'settings', 'leave'];
// toggle-audio, open-chat, leave.
const nameOf = button => button.id.replace(/^(toggle|open)-/, '');

/** @param {string | null} wanted */
export function chooseButtons(wanted) {
  const names = wanted === null ? DEFAULT : wanted.split(',').map(name => name.trim());
  const bar = document.querySelector('.bar');
  const buttons = [...bar.querySelectorAll('button')];
  for (const button of buttons) button.classList.toggle('unwanted', !names.includes(nameOf(button)));
  bar.classList.toggle('unwanted', !buttons.some(button => names.includes(nameOf(button))));
}
