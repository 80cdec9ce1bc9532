// Reactions: the menu, and those that rise over the picture.

import { element } from '/assets/elements.js';
import { REACTIONS } from '/assets/tessera.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const SHOWN_FOR = 4000;

export function showReaction(name, reaction) {
  const made = element('span', { className: 'reaction' }, element('b', { textContent: reaction }), element('small', { dir: 'auto', textContent: name }));
  // Beside each other, so that several can be told apart.
  made.style.insetInlineStart = `${8 + Math.random() * 55}%`;
  $('reactions').append(made);
  setTimeout(() => made.remove(), SHOWN_FOR);
}

/// `call()`: the call that runs.
export function bindReactions(call) {
  const menu = $('reaction-menu');
  $('open-reactions').onclick = () => (menu.open ? menu.close() : menu.show());
  menu.onclose = () => $('open-reactions').setAttribute('aria-expanded', 'false');
  $('open-reactions').addEventListener('click', () => $('open-reactions').setAttribute('aria-expanded', String(menu.open)));
  $('reaction-list').replaceChildren(...REACTIONS.map((reaction, index) => {
    const button = element('button', { type: 'button', className: 'plain', textContent: reaction });
    button.setAttribute('aria-label', t(`reaction.${index}`));
    button.onclick = () => { call().channel.react(reaction); menu.close(); $('open-reactions').focus(); };
    return button;
  }));
}
