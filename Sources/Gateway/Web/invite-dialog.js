// The invitation: the room's link, to copy, to share, or to send by mail. `invite.js` loads it when it is opened first.

import * as address from '/assets/address.js';
import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

export function openInvitation(room) {
  $('link').value = address.linkTo(room);
  const text = t('invite.text', { room, link: $('link').value });
  $('mail-link').href = `mailto:?subject=${encodeURIComponent(t('invite.subject', { room }))}&body=${encodeURIComponent(text)}`;
  $('share-link').hidden = !navigator.share;
  $('share-link').onclick = () => navigator.share({ title: t('invite.subject', { room }), url: $('link').value }).catch(() => {});
  $('invite').showModal();
}

function bind() {
  $('copy-link').onclick = async () => {
    $('link').select();
    // Without HTTPS there is no clipboard object, but the old command copies the selection.
    const isCopied = await navigator.clipboard?.writeText($('link').value).then(() => true, () => false) || document.execCommand('copy');
    $('copy-link').textContent = t(isCopied ? 'link.copied' : 'link.copyByHand');
    setTimeout(() => { $('copy-link').textContent = t('link.copy'); }, 2000);
  };
}

bind();
