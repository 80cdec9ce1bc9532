// The page's first script: the lobby. The script of the call comes while the user looks at the lobby.

import * as address from '/assets/address.js';
import { chooseButtons } from '/assets/buttons.js';
import { show } from '/assets/elements.js';
import { lobby } from '/assets/lobby.js';
import { t, translate } from '/assets/words.js';

translate(document);
document.body.classList.toggle('embedded', address.isEmbedded);
if (address.isEmbedded) chooseButtons(address.query.get('buttons'));

const load = () => import('/assets/main.js');
let loading = load();
// Who joins is told of a failure.
loading.then(() => history.replaceState({ ...history.state, tries: 0 }, ''), () => {});

lobby.join = async (...choices) => {
  const page = await loading.catch(() => loading = load()).catch(() => null);
  if (page) return page.join(...choices);
  // A server that answers has another version by now, whose page has scripts of other names.
  const isThere = await fetch(location.href, { method: 'HEAD', cache: 'no-store' }).then(answer => answer.ok, () => false);
  if (!isThere || !window.tesseraReload()) lobby.showRefusal({ code: 'unreachable', message: '' });
};

show('lobby');
// Before the lobby joins by itself, so that the page around it is told.
if (address.isEmbedded && parent !== window) await import('/assets/frame.js').then(({ bindFrame }) => bindFrame({ lobby, guest: () => t('guest') }), () => {});
lobby.open();
