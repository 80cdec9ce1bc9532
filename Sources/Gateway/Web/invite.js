// The invitation: the room's link, to copy, to share, or to send by mail.

import * as address from '/assets/address.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

export function showInvitation(room) {
  $('link').value = address.linkTo(room);
  const text = t('invite.text', { room, link: $('link').value });
  $('mail-link').href = `mailto:?subject=${encodeURIComponent(t('invite.subject', { room }))}&body=${encodeURIComponent(text)}`;
  $('share-link').hidden = !navigator.share;
  $('share-link').onclick = () => navigator.share({ title: t('invite.subject', { room }), url: $('link').value }).catch(() => {});
}

/// Who is alone is shown the way to invite others, unless somebody waits to be let in.
export function showAlone(call) {
  $('alone').hidden = address.isEmbedded || call.people.list.length + call.people.viewers > 1 || (call.isModerator && call.waiting.length > 0);
}

export function bindInvitation() {
  for (const id of ['open-invite', 'alone-invite']) $(id).onclick = () => $('invite').showModal();
  $('copy-link').onclick = async () => {
    $('link').select();
    // Without HTTPS there is no clipboard object, but the old command copies the selection.
    const isCopied = await navigator.clipboard?.writeText($('link').value).then(() => true, () => false) || document.execCommand('copy');
    $('copy-link').textContent = t(isCopied ? 'link.copied' : 'link.copyByHand');
    setTimeout(() => { $('copy-link').textContent = t('link.copy'); }, 2000);
  };
}
